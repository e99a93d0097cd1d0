"""Which sessions a store terminates to unlock the jobs of lost workers, and which it never terminates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Delete,
    Examine,
    Finding,
    GetJobs,
    Guard,
    LockChain,
    Operation,
    Reap,
    Renew,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.engine.store import SyncTransaction
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, new_job
from holdfast.testing.clock import ManualClock
from tests.servers.postgres import Postgres
from tests.stores.postgres.app_connections import url
from tests.stores.postgres.transaction_pooler import transaction_pooler
from tests.waiting import wait_until

LEASE = 100_000
HOUR = 3_600_000_000
REAP = Reap(("resize",), (), 100)


def claimed(store: PostgresStore, *, lease: int = LEASE) -> Record:
    """A job that a worker has claimed."""
    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", lease, 25),), 1, "worker", "token"))
    return job


def attempt_of(store: PostgresStore, job: Record) -> tuple[SyncTransaction, int]:
    """The transaction of an attempt, which locks the job, and the process id of its session."""
    tx = store.begin_sync()
    tx.perform(Guard(job.claim))
    ((pid,),) = tx.native.execute("select pg_backend_pid()").fetchall()
    return tx, pid


def abandon(tx: SyncTransaction) -> None:
    """End a transaction, whatever the state of its session."""
    tx.abandon()
    tx.rollback()


def wait_until_idle(connection: psycopg.Connection, pid: int) -> None:
    """Wait until the session was idle for longer than the lease, so that the lease has expired."""
    idle = "select state_change < clock_timestamp() - interval '300 ms' from pg_stat_activity where pid = %s"
    wait_until(lambda: connection.execute(idle, [pid]).fetchone() == (True,))


def wait_until_ended(connection: psycopg.Connection, pid: int) -> None:
    wait_until(lambda: not exists(connection, pid))


def exists(connection: psycopg.Connection, pid: int) -> bool:
    return connection.execute("select 1 from pg_stat_activity where pid = %s", [pid]).fetchone() is not None


def held_jobs(store: PostgresStore) -> list[Finding]:
    return [finding for finding in store.perform_sync(Examine()) if finding.subject == "held job"]


@pytest.fixture
def no_termination(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No session is terminated in the test."""
    with caplog.at_level(logging.WARNING, "holdfast"):
        yield
    assert "terminated session" not in caplog.text


@pytest.mark.parametrize("settled", [False, True], ids=["in its block", "before its commit"])
def test_an_idle_attempt_with_an_expired_lease_is_ended_and_reaped(
    store: PostgresStore, connection: psycopg.Connection, caplog: pytest.LogCaptureFixture, settled: bool
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    if settled:
        tx.perform(Settle((completed(job),)))
    wait_until_idle(connection, pid)

    assert store.perform_sync(REAP) == []
    wait_until_ended(connection, pid)
    (reaped,) = store.perform_sync(REAP)

    assert reaped.record.id == job.id
    assert reaped.record.status is Status.PENDING
    assert f"terminated session {pid}" in caplog.text
    abandon(tx)


def cancel(chain_id: str) -> CancelChains:
    return CancelChains((chain_id,), b"null")


def delete(chain_id: str) -> Delete:
    return Delete((chain_id,))


@pytest.mark.parametrize(
    "operation",
    [cancel, delete, LockChain],
    ids=["cancel", "delete", "completing"],
)
@pytest.mark.parametrize("joined", [False, True], ids=["by itself", "in the application's transaction"])
def test_an_operation_that_needs_the_job_ends_the_lost_attempt_without_a_reaper(
    server: Postgres,
    store: PostgresStore,
    connection: psycopg.Connection,
    operation: Callable[[str], Operation[Any]],
    joined: bool,
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    with server.connect() as application, application.transaction():
        performs = store.join_sync(application).perform if joined else store.perform_sync
        performs(operation(job.chain_id))

    assert not exists(connection, pid)
    abandon(tx)


def test_a_transaction_with_an_old_snapshot_ends_no_attempt(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    """Its snapshot shows the lease as it was before the last renewals."""
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    with server.connect() as application:
        application.execute("set lock_timeout = '200ms'")
        application.execute("begin isolation level repeatable read")
        application.execute("select 1")
        wait_until_idle(connection, pid)
        store.perform_sync(Renew(((job.claim, HOUR),)))

        with pytest.raises(psycopg.errors.OperationalError):
            store.join_sync(application).perform(CancelChains((job.chain_id,), b"null"))

        application.execute("rollback")
    tx.perform(Settle((completed(job),)))
    tx.commit()


@pytest.mark.usefixtures("no_termination")
def test_a_live_worker_keeps_its_transaction_beyond_its_first_lease(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)
    assert store.perform_sync(Renew(((job.claim, HOUR),))) == {}

    assert store.perform_sync(REAP) == []

    tx.perform(Settle((completed(job),)))
    tx.commit()
    assert held_jobs(store) == []


@pytest.mark.usefixtures("no_termination")
def test_a_live_worker_whose_renewals_are_blocked_keeps_its_transaction(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    with server.connect() as application, application.transaction():
        application.execute(f'select 1 from "{store.schema}".job for no key update'.encode())
        wait_until_idle(connection, pid)

        assert store.perform_sync(REAP) == []

    tx.perform(Settle((completed(job),)))
    tx.commit()


@pytest.mark.usefixtures("no_termination")
def test_an_attempt_that_was_active_recently_is_not_ended(store: PostgresStore) -> None:
    """During a settlement no renewal succeeds, so an expired lease alone does not mean that the worker is lost."""
    clock = store.clock = ManualClock()
    job = claimed(store, lease=HOUR)
    tx, _ = attempt_of(store, job)
    tx.perform(Settle((completed(job),)))
    clock.advance(7200)

    assert store.perform_sync(REAP) == []

    tx.commit()


@pytest.mark.usefixtures("no_termination")
def test_a_claim_of_the_reapers_own_worker_is_not_reaped(store: PostgresStore, connection: psycopg.Connection) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    assert store.perform_sync(Reap(("resize",), (job.claim,), 100)) == []

    tx.perform(Settle((completed(job),)))
    tx.commit()


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
@pytest.mark.parametrize("settled", [False, True], ids=["of a prepare", "of a completion"])
def test_a_transaction_that_waits_for_its_commit_is_never_ended_and_doctor_names_it(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection, settled: bool
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
    if settled:
        tx.perform(Settle((completed(job),)))
    with server.connect() as other, ThreadPoolExecutor(1) as pool:
        other.execute("select pg_advisory_lock(14, 3)")
        commits = pool.submit(tx.commit)
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


def test_doctor_names_a_lost_attempt(store: PostgresStore, connection: psycopg.Connection) -> None:
    job = claimed(store)
    tx, pid = attempt_of(store, job)
    wait_until_idle(connection, pid)

    (finding,) = held_jobs(store)

    assert f"session {pid} (postgres, holdfast attempt " in finding.detail
    assert "its worker is lost" in finding.detail
    abandon(tx)


def test_a_lost_attempt_behind_a_pooler_is_ended(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection
) -> None:
    with transaction_pooler(server.port) as port:
        pooled = PostgresStore(server.tcp_address(port=port, schema=store.schema, notify="off"))
        job = claimed(pooled)
        tx, pid = attempt_of(pooled, job)
        wait_until_idle(connection, pid)

        store.perform_sync(REAP)
        wait_until_ended(connection, pid)

        assert [reaped.record.id for reaped in store.perform_sync(REAP)] == [job.id]
        abandon(tx)
        pooled.close_sync()


def test_the_name_of_a_session_is_restored_after_the_attempt_and_does_not_contain_the_token(
    store: PostgresStore,
) -> None:
    engine = create_engine(url("psycopg"), connect_args={"application_name": "shop"})
    job = claimed(store)
    with closing(Session(engine)) as session:
        names: list[str] = []
        tx = store.join_sync(session)
        tx.perform(Guard(job.claim))
        names.append(str(session.execute(text("show application_name")).scalar()))
        session.commit()
        names.append(str(session.execute(text("show application_name")).scalar()))
    engine.dispose()

    assert names[0].startswith("holdfast attempt ")
    assert len(names[0]) < 64
    assert job.token is not None
    assert job.token not in names[0]
    assert names[1] == "shop"
