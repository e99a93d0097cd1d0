"""Sessions of the application, running commits and other sessions are never ended; doctor names them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Examine,
    GetJobs,
    LockChain,
    Renew,
    Settle,
    Start,
)
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, failed, new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.lost_attempts import REAP, attempt_of, claimed, held_jobs, wait_until_idle
from tests.stores.postgres.lost_attempts import no_termination as no_termination
from tests.waiting import wait_until


@pytest.mark.usefixtures("no_termination")
@pytest.mark.parametrize("how", ["by completing(tx=)", "by cancel(tx=)", "by a lock of its own"])
def test_a_session_of_the_application_is_never_ended_and_doctor_names_it(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection, how: str
) -> None:
    job = claimed(store)
    with server.connect() as application:
        pid = application.info.backend_pid
        application.execute("set application_name = 'holdfast'")
        application.execute("begin")
        tx = store.join_sync(application)
        if how == "by completing(tx=)":
            tx.perform(LockChain(job.chain_id))
        elif how == "by cancel(tx=)":
            tx.perform(CancelChains((job.chain_id,), b"null"))
        else:
            application.execute(f'select 1 from "{store.schema}".job for update'.encode())
        wait_until_idle(connection, pid)

        assert store.perform_sync(REAP) == []
        (finding,) = held_jobs(store)

        assert finding.level == "warning"
        assert f"session {pid} (postgres, holdfast, idle in transaction" in finding.detail
        assert job.id in finding.detail
        assert "belongs to the application and is never terminated" in finding.detail
        (expired,) = [each for each in store.perform_sync(Examine()) if each.subject == "expired leases"]
        assert "open transactions hold 1 of them" in expired.detail
        assert "start a worker" not in expired.detail
        application.execute("commit")


@pytest.mark.usefixtures("no_termination")
def test_a_session_that_has_only_the_name_of_an_attempt_is_never_ended(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    with server.connect() as blocking, server.connect() as named:
        blocking.execute("begin")
        blocking.execute(f'select 1 from "{store.schema}".job for update'.encode())
        named.execute(
            f"select set_config('application_name', \"{store.schema}\".attempt_name(%s, %s), false)".encode(),
            [job.id, job.token],
        )
        named.execute("begin")
        named.execute("select 1")
        wait_until_idle(connection, named.info.backend_pid)

        store.perform_sync(REAP)

        named.execute("commit")
        blocking.execute("commit")


@pytest.mark.usefixtures("no_termination")
@pytest.mark.parametrize(
    ("settled", "together"),
    [(False, False), (True, False), (True, True)],
    ids=["of a prepare", "of a completion", "sent with the settlement"],
)
def test_a_transaction_that_waits_for_its_commit_is_never_ended_and_doctor_names_it(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection, settled: bool, together: bool
) -> None:
    connection.execute(f'create table "{store.schema}".row (n int)'.encode())
    connection.execute(
        f'create function "{store.schema}".wait() returns trigger language plpgsql as '
        "$$ begin perform pg_advisory_xact_lock(14, 3); return null; end $$".encode()
    )
    connection.execute(
        f'create constraint trigger wait after insert on "{store.schema}".row deferrable initially deferred '
        f'for each row execute function "{store.schema}".wait()'.encode()
    )
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    tx.native.execute(f'insert into "{store.schema}".row values (1)'.encode())
    if settled and not together:
        tx.perform(Settle((completed(job),)))

    def commit() -> None:
        if together:
            tx.perform(Settle((completed(job),), commits=True))
        tx.commit()

    with server.connect() as other, ThreadPoolExecutor(1) as pool:
        other.execute("select pg_advisory_lock(14, 3)")
        commits = pool.submit(commit)
        waiting = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
        wait_until(lambda: connection.execute(waiting, [pid]).fetchone() == (True,))
        wait_until_idle(connection, pid)

        assert store.perform_sync(REAP) == []
        (finding,) = held_jobs(store)
        assert f"session {pid} (" in finding.detail
        assert "waits for its COMMIT and is never terminated" in finding.detail

        other.execute("select pg_advisory_unlock(14, 3)")
        commits.result(60)
    (record,) = store.perform_sync(GetJobs((job.id,)))
    assert record is not None
    assert record.status is (Status.COMPLETED if settled else Status.RUNNING)


@pytest.mark.usefixtures("no_termination")
def test_a_commit_that_waits_for_a_standby_is_never_ended(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address(notify="off"))
    store.migrate_sync()
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    tx.perform(Settle((completed(job),)))
    with own_server.connect() as connection, own_server.connect() as probe, ThreadPoolExecutor(2) as pool:
        connection.execute("create table probed (n int)")
        connection.execute("alter system set synchronous_standby_names = 'away'")
        connection.execute("select pg_reload_conf()")

        def waits(pid: int) -> bool:
            waiting = "select wait_event = 'SyncRep' from pg_stat_activity where pid = %s"
            return connection.execute(waiting, [pid]).fetchone() == (True,)

        # The setting takes effect when the checkpointer has read it. Until then a commit does not wait.
        probing = pool.submit(probe.execute, "insert into probed values (1)")
        while not waits(probe.info.backend_pid):
            if probing.done():
                probing = pool.submit(probe.execute, "insert into probed values (1)")
        commits = pool.submit(tx.commit)
        wait_until(lambda: waits(pid))
        wait_until_idle(connection, pid)

        assert store.perform_sync(REAP) == []
        (finding,) = held_jobs(store)
        assert "waits for its COMMIT" in finding.detail

        connection.execute("alter system reset synchronous_standby_names")
        connection.execute("select pg_reload_conf()")
        commits.result(60)
        probing.result(60)
    store.close_sync()


@pytest.mark.parametrize(
    ("state", "query", "commits"),
    [
        ("active", "commit", True),
        ("active", "COMMIT;", True),
        ("active", " /* web * 1 */ -- more\n; Commit work", True),
        ("active", "end", True),
        ("active", "prepare transaction 'one'", True),
        ("active", "select 1 / (1 = 1)::int; commit", True),
        ("active", "update committed set n = 1", False),
        ("active", "prepare statement as select 1", False),
        ("active", "endow()", False),
        ("idle in transaction", "commit", False),
    ],
)
def test_a_commit_is_recognised_by_its_statement(
    store: PostgresStore, connection: psycopg.Connection, state: str, query: str, commits: bool
) -> None:
    answer = connection.execute(f'select "{store.schema}".commits(%s, %s, null)'.encode(), [state, query])

    assert answer.fetchone() == (commits,)


def test_a_role_that_may_not_end_the_session_continues_and_doctor_names_it(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    role = f"works_{store.schema}"
    connection.execute(f"create role {role} login".encode())
    connection.execute(f'grant usage on schema "{store.schema}" to {role}'.encode())
    connection.execute(
        f'grant select, insert, update, delete on all tables in schema "{store.schema}" to {role}'.encode()
    )
    limited = PostgresStore(server.address(user=role, schema=store.schema, notify="off"))
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    assert limited.perform_sync(REAP) == []
    (hidden,) = held_jobs(limited)
    connection.execute(f"grant pg_read_all_stats to {role}".encode())
    assert limited.perform_sync(REAP) == []
    (protected,) = held_jobs(limited)

    assert f"session {pid} (postgres" in hidden.detail
    assert "may not see what a session of role postgres does" in hidden.detail
    assert "this role may not end sessions of role postgres" in protected.detail
    assert "terminated" not in caplog.text
    tx.perform(Settle((completed(job),)))
    tx.commit()
    limited.close_sync()
    connection.execute(f"drop owned by {role}".encode())
    connection.execute(f"drop role {role}".encode())


@pytest.mark.usefixtures("no_termination")
@pytest.mark.parametrize("how", [completed, failed], ids=["completes", "fails"])
def test_an_attempt_that_waits_for_a_completion_from_outside_renews_its_lease_and_is_never_ended(
    store: PostgresStore, connection: psycopg.Connection, how: Callable[[Record], Settlement]
) -> None:
    job = claimed(store)
    dependent = new_job("dependent", after=(job.chain_id,), on_blocker_failure="fail")
    store.perform_sync(Start((dependent,)))
    block = store.begin_sync()
    block.perform(LockChain(dependent.id))
    tx, pid = attempt_of(store, job)
    with ThreadPoolExecutor(1) as pool:
        settles = pool.submit(tx.perform, Settle((how(job),)))
        waiting = "select wait_event_type = 'Lock' from pg_stat_activity where pid = %s"
        wait_until(lambda: connection.execute(waiting, [pid]).fetchone() == (True,))
        wait_until_idle(connection, pid)

        assert store.perform_sync(Renew(((job.claim, 60_000_000),))) == {}
        assert store.perform_sync(REAP) == []

        block.rollback()
        settles.result(60)
        tx.commit()
    ended, blocked = store.perform_sync(GetJobs((job.id, dependent.id)))
    assert ended is not None
    assert blocked is not None
    expected = (Status.COMPLETED, Status.PENDING) if how is completed else (Status.FAILED, Status.FAILED)
    assert (ended.status, blocked.status) == expected
