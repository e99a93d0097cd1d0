"""Timeouts of a role, a promoted standby and broken connections: no committed job is lost."""

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
from holdfast.stores.postgres.plan import Instruction, Pipeline, Result
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres, running_standby
from tests.waiting import wait_until

LEASE = 60_000_000
TERMS = (TypeTerms("resize", LEASE, 25),)


@pytest.fixture
def impatient(server: Postgres, store: PostgresStore, connection: psycopg.Connection) -> Iterator[PostgresStore]:
    """The store with a role that has short timeouts: 200 ms for a lock, 1 s for a statement."""
    role = f"impatient_{store.schema}"
    connection.execute(f"create role {role} login superuser".encode())
    connection.execute(f"alter role {role} set lock_timeout = '200ms'".encode())
    connection.execute(f"alter role {role} set statement_timeout = '1s'".encode())
    impatient = PostgresStore(server.address(user=role, schema=store.schema, notify="off"))
    impatient.open_sync()
    yield impatient
    impatient.close_sync()
    connection.execute(f"drop role {role}".encode())


def test_verbs_are_read_committed_whatever_the_default_of_the_role(
    impatient: PostgresStore, store: PostgresStore, connection: psycopg.Connection
) -> None:
    connection.execute(
        f"alter role impatient_{store.schema} set default_transaction_isolation = 'serializable'".encode()
    )

    opened = connect(impatient.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)

    assert opened.execute(Statement("show transaction_isolation")) == [("read committed",)]
    opened.close()


def test_a_start_is_retried_after_a_lock_timeout_of_the_role(
    impatient: PostgresStore, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = threading.Event()
    pause = errors.RetrySchedule.pause

    def notice(schedule: errors.RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        if errors.sqlstate(error) == "55P03":
            refused.set()
        return pause(schedule, operation, error)

    monkeypatch.setattr(errors.RetrySchedule, "pause", notice)
    first = new_job(key="one")
    tx = store.begin_sync()
    tx.perform(Start((first,)))
    with ThreadPoolExecutor(1) as pool:
        waiting_start = pool.submit(impatient.perform_sync, Start((new_job(key="one"),)))
        assert refused.wait(60)
        tx.commit()

        (started,) = waiting_start.result(60)

    assert started.deduplicated
    assert started.chain.first.id == first.id


def test_a_statement_timeout_of_the_role_does_not_apply_to_verbs(
    impatient: PostgresStore, store: PostgresStore, connection: psycopg.Connection
) -> None:
    """Statements of the store have the deadline of the address, those of the application the timeout of the role."""
    connection.execute(f"alter role impatient_{store.schema} reset lock_timeout".encode())
    impatient.close_sync()
    tx = store.begin_sync()
    tx.perform(Start((new_job(key="one"),)))
    with ThreadPoolExecutor(1) as pool:
        waiting_start = pool.submit(impatient.perform_sync, Start((new_job(key="one"),)))
        waited = (
            "select max(clock_timestamp() - query_start) > interval '1.5s' from pg_stat_activity where usename = %s"
        )
        wait_until(lambda: connection.execute(waited, [f"impatient_{store.schema}"]).fetchone() == (True,))
        tx.commit()

        assert waiting_start.result(60)[0].deduplicated


def test_a_statement_timeout_in_the_transaction_of_a_handler_rolls_it_back(impatient: PostgresStore) -> None:
    job = new_job()
    tx = impatient.begin_sync()
    tx.perform(Start((job,)))
    native: psycopg.Connection = tx.native

    with pytest.raises(psycopg.errors.QueryCanceled):
        native.execute("select pg_sleep(20)")
    tx.rollback()

    assert impatient.perform_sync(GetJobs((job.id,))) == [None]
    with_another = impatient.begin_sync()
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


def test_a_claim_that_fails_after_its_first_statement_returns_the_claimed_jobs(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.perform_sync(Start((new_job(), new_job("publish"))))
    execute = SyncConnection.execute
    claims: list[Instruction] = []

    def fail_the_second(opened: SyncConnection, instruction: Instruction) -> Result:
        if not isinstance(instruction, Pipeline) and instruction.sql == SQL["claim"]:
            claims.append(instruction)
            if len(claims) == 2:
                raise psycopg.errors.SerializationFailure
        return execute(opened, instruction)

    monkeypatch.setattr(SyncConnection, "execute", fail_the_second)

    claimed = store.perform_sync(ClaimJobs((*TERMS, TypeTerms("publish", LEASE, 25)), 10, "worker", "token"))

    assert len(claims) == 2
    assert [job.type for job in claimed] == ["resize", "publish"]


def test_a_transaction_without_an_answer_raises_store_unavailable(server: Postgres, store: PostgresStore) -> None:
    hasty = PostgresStore(server.address(schema=store.schema, notify="off", deadline="1"))
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


def test_a_connection_is_not_reused_after_an_error(store: PostgresStore, connection: psycopg.Connection) -> None:
    before = sessions(connection)
    connection.execute(f'alter table "{store.schema}".paused rename to hidden'.encode())
    with pytest.raises(StoreUnavailable, match="holdfast migrate"):
        store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))
    connection.execute(f'alter table "{store.schema}".hidden rename to paused'.encode())

    store.perform_sync(ClaimJobs(TERMS, 1, "worker", "token"))

    assert len(sessions(connection) - before) == 1
    wait_until(lambda: len(before - sessions(connection)) == 1)


def test_a_client_with_both_hosts_continues_after_the_standby_is_promoted(own_server: Postgres) -> None:
    """With both hosts in the address and `target_session_attrs=read-write`, libpq finds the primary."""
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
        assert all(job is not None for job in jobs), "the standby was synchronous: every acknowledged job exists"
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
