"""What a store goes through without losing anything: a role's timeouts, a promoted standby, connections cut short."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from holdfast.core.record import Status
from holdfast.engine.operations import ClaimJobs, GetJobs, GetStats, LockChain, Operation, Settle, Start, TypeTerms
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore, errors
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Many, Row, Statement
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres, running_standby
from tests.stores.postgres.watching import wait_until

LEASE = 60_000_000
TERMS = (TypeTerms("resize", LEASE, 25),)


@pytest.fixture
def hurried(server: Postgres, store: PostgresStore, connection: psycopg.Connection) -> Iterator[PostgresStore]:
    """The store by a role that is not to wait: 200 ms for a lock, 1 s for a statement."""
    role = f"hurried_{store.schema}"
    connection.execute(f"create role {role} login superuser".encode())
    connection.execute(f"alter role {role} set lock_timeout = '200ms'".encode())
    connection.execute(f"alter role {role} set statement_timeout = '1s'".encode())
    hurried = PostgresStore(server.address(user=role, schema=store.schema, notify="off"))
    hurried.open_sync()
    yield hurried
    hurried.close_sync()
    connection.execute(f"drop role {role}".encode())


def test_our_verbs_are_read_committed_whatever_the_role_has(
    hurried: PostgresStore, store: PostgresStore, connection: psycopg.Connection
) -> None:
    connection.execute(f"alter role hurried_{store.schema} set default_transaction_isolation = 'serializable'".encode())

    link = connect(hurried.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)

    assert link.execute(Statement("show transaction_isolation")) == [("read committed",)]
    link.close()


def test_a_lock_timeout_of_the_role_is_waited_out(
    hurried: PostgresStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = threading.Event()
    pause = errors.RetrySchedule.pause

    def notice(patience: errors.RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        if errors.sqlstate(error) == "55P03":
            refused.set()
        return pause(patience, operation, error)

    monkeypatch.setattr(errors.RetrySchedule, "pause", notice)
    first = new_job(key="one")
    tx = store.begin_sync()
    tx.perform(Start((first,)))
    with ThreadPoolExecutor(1) as pool:
        going_on = pool.submit(hurried.perform_sync, Start((new_job(key="one"),)))
        assert refused.wait(20)
        tx.commit()

        (started,) = going_on.result(20)

    assert started.deduplicated
    assert started.chain.first.id == first.id


def test_a_statement_timeout_of_the_role_does_not_cut_our_waits_short(
    hurried: PostgresStore, store: PostgresStore, connection: psycopg.Connection
) -> None:
    """What the address says about deadlines holds for our statements, what the role says for the application's."""
    connection.execute(f"alter role hurried_{store.schema} reset lock_timeout".encode())
    hurried.close_sync()
    tx = store.begin_sync()
    tx.perform(Start((new_job(key="one"),)))
    with ThreadPoolExecutor(1) as pool:
        going_on = pool.submit(hurried.perform_sync, Start((new_job(key="one"),)))
        waited = (
            "select max(clock_timestamp() - query_start) > interval '1.5s' from pg_stat_activity where usename = %s"
        )
        wait_until(lambda: connection.execute(waited, [f"hurried_{store.schema}"]).fetchone() == (True,))
        tx.commit()

        assert going_on.result(20)[0].deduplicated


def test_a_statement_timeout_within_a_handlers_transaction_undoes_it_all(hurried: PostgresStore) -> None:
    job = new_job()
    tx = hurried.begin_sync()
    tx.perform(Start((job,)))
    native: psycopg.Connection = tx.native

    with pytest.raises(psycopg.errors.QueryCanceled):
        native.execute("select pg_sleep(20)")
    tx.rollback()

    assert hurried.perform_sync(GetJobs((job.id,))) == [None]
    with_another = hurried.begin_sync()
    assert with_another.native is not native
    with_another.rollback()


async def test_no_connection_is_used_again_after_a_cancelled_task(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    key = new_job(key="held")
    before = sessions(connection)
    await store.perform(GetStats())
    (used,) = sessions(connection) - before
    with psycopg.connect(connection.info.dsn) as other:
        store.join_sync(other).perform(Start((key,)))
        waiting = asyncio.create_task(store.perform(Start((new_job(key="held"),))))
        await asyncio.to_thread(wait_until, lambda: blocked(connection, store) == {used})
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        other.rollback()

    await store.perform(GetStats())

    await asyncio.to_thread(wait_until, lambda: used not in sessions(connection))
    await store.close()


def test_a_claim_that_fails_half_way_hands_out_what_it_took(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.perform_sync(Start((new_job(), new_job("publish"))))
    execute = SyncConnection.execute
    claims: list[Statement | Many] = []

    def fail_the_second(link: SyncConnection, step: Statement | Many) -> list[Row]:
        if step.sql == SQL["claim"]:
            claims.append(step)
            if len(claims) == 2:
                raise psycopg.errors.SerializationFailure
        return execute(link, step)

    monkeypatch.setattr(SyncConnection, "execute", fail_the_second)

    claimed = store.perform_sync(ClaimJobs((*TERMS, TypeTerms("publish", LEASE, 25)), 10, "worker", "token"))

    assert len(claims) == 2
    assert [job.type for job in claimed] == ["resize", "publish"]


def test_a_transaction_that_gets_no_answer_says_that_the_store_is_unavailable(
    server: Postgres, store: PostgresStore
) -> None:
    hasty = PostgresStore(server.address(schema=store.schema, notify="off", deadline="0.2"))
    job = new_job()
    store.perform_sync(Start((job,)))
    holder = store.begin_sync()
    holder.perform(LockChain(job.id))
    tx = hasty.begin_sync()

    with pytest.raises(StoreUnavailable, match="no answer within"):
        tx.perform(LockChain(job.id))

    tx.rollback()
    holder.rollback()
    hasty.close_sync()


def test_an_error_of_the_server_ends_the_use_of_its_connection(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    before = sessions(connection)
    connection.execute(f'alter table "{store.schema}".paused rename to hidden'.encode())
    with pytest.raises(StoreUnavailable, match="holdfast migrate"):
        store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
    connection.execute(f'alter table "{store.schema}".hidden rename to paused'.encode())

    store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))

    assert len(sessions(connection) - before) == 1
    wait_until(lambda: len(before - sessions(connection)) == 1)


def test_a_client_with_both_hosts_goes_on_when_the_standby_is_promoted(own_server: Postgres) -> None:
    """Clients that know both hosts and want the one that takes writes find it, wherever it is."""
    PostgresStore(own_server.address(notify="off")).migrate_sync()
    with running_standby(own_server, synchronous=True) as standby:
        store = PostgresStore(
            f"postgresql://postgres@127.0.0.1:{own_server.port},127.0.0.1:{standby.port}/postgres"
            "?target_session_attrs=read-write&notify=off"
        )
        store.open_sync()
        acknowledged: list[str] = []
        stop = threading.Event()

        def produce() -> None:
            while not stop.is_set():
                job = new_job()
                try:
                    store.perform_sync(Start((job,)))
                except StoreUnavailable:
                    continue
                acknowledged.append(job.id)

        producer = threading.Thread(target=produce)
        producer.start()
        try:
            wait_until(lambda: len(acknowledged) >= 20)
            store.perform_sync(Start((new_job("resize"),)))
            (held,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
            own_server.stop(signal.SIGQUIT)
            standby.promote()
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) >= before + 20)
        finally:
            stop.set()
            producer.join()
        (settled,) = store.perform_sync(Settle((completed(held),)))

        assert settled.written
        jobs = store.perform_sync(GetJobs((*acknowledged, held.id)))
        assert all(job is not None for job in jobs), "the standby was synchronous: what was acknowledged is there"
        assert jobs[-1] is not None
        assert jobs[-1].status is Status.COMPLETED
        store.close_sync()


def sessions(connection: psycopg.Connection) -> set[int]:
    rows = connection.execute("select pid from pg_stat_activity where application_name = 'holdfast'")
    return {row[0] for row in rows}


def blocked(connection: psycopg.Connection, store: PostgresStore) -> set[int]:
    rows = connection.execute(
        "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like %s", [f"%{store.schema}%"]
    )
    return {row[0] for row in rows}
