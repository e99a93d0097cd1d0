"""The transaction of an attempt begins with its guard, and commits together with its settlement."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from holdfast.core.record import Record, Status
from holdfast.engine.operations import CancelChains, ClaimJobs, GetChains, GetJobs, Guard, Settle, Start, TypeTerms
from holdfast.engine.store import SyncTransaction
from holdfast.errors import ClaimLost
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.connection.connection_state import Sendable
from holdfast.stores.postgres.errors import NotMigrated
from holdfast.stores.postgres.plan import Result
from holdfast.testing.builders import completed, continued, new_job, next_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.transaction_pooler import transaction_pooler
from tests.stores.postgres.waiting import waits

TERMS = (TypeTerms("resize", 60_000_000, 25),)


@pytest.fixture
def written(store: PostgresStore, connection: psycopg.Connection) -> str:
    """A table of the application."""
    name = f"{store.schema}_written"
    connection.execute(f"create table {name} (number int unique deferrable initially deferred)".encode())
    return name


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[Sendable]:
    """What the store sends; each is one round trip."""
    sent: list[Sendable] = []
    send = SyncConnection.send

    def recording(connection: SyncConnection, instruction: Sendable, /) -> Result:
        sent.append(instruction)
        return send(connection, instruction)

    monkeypatch.setattr(SyncConnection, "send", recording)
    return sent


def claimed(store: PostgresStore, *, token: str = "token") -> Record:
    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs(TERMS, 1, "worker", token))
    return job


def begun(store: PostgresStore, job: Record) -> SyncTransaction:
    """The transaction of an attempt, as `complete()` begins it."""
    tx = store.begin_lazily_sync()
    tx.perform(Guard(job.claim))
    return tx


def write(tx: SyncTransaction, table: str, number: int = 1) -> None:
    tx.native.execute(f"insert into {table} values (%s)", [number])


def rows_of(connection: psycopg.Connection, table: str) -> list[Any]:
    return [number for (number,) in connection.execute(f"select number from {table} order by 1".encode())]


def status(store: PostgresStore, job: Record) -> Status:
    (found,) = store.perform_sync(GetJobs((job.id,)))
    assert found is not None
    return found.status


def settle(tx: SyncTransaction, job: Record) -> Any:
    (answer,) = tx.perform(Settle((completed(job),), commits=True))
    return answer


def test_an_attempt_with_one_statement_takes_three_round_trips(
    store: PostgresStore, written: str, connection: psycopg.Connection, trips: list[Sendable]
) -> None:
    begun(store, claimed(store)).rollback()  # opens the connection
    job = claimed(store, token="another")
    trips.clear()

    tx = begun(store, job)
    write(tx, written)
    settle(tx, job)
    tx.commit()

    assert len(trips) == 2, "the guard and the settlement; the statement of the application is the third"
    assert (status(store, job), rows_of(connection, written)) == (Status.COMPLETED, [1])


def test_a_settlement_commits_the_writes_of_the_application(
    store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    write(tx, written)

    assert settle(tx, job).written
    assert (status(store, job), rows_of(connection, written)) == (Status.COMPLETED, [1])
    tx.commit()

    with pytest.raises(RuntimeError, match="over"):
        tx.native.execute("select 1")


def test_a_continuation_is_committed_with_its_settlement(
    store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    write(tx, written)
    following = next_job(job)

    (answer,) = tx.perform(Settle((continued(job, following),), commits=True))

    assert answer.written
    assert (status(store, job), rows_of(connection, written)) == (Status.COMPLETED, [1])
    tx.commit()


def test_a_chain_that_is_awaited_since_the_guard_unblocks_its_dependents(
    store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    write(tx, written)
    dependent = new_job(after=(job.chain_id,))
    store.perform_sync(Start((dependent,)))

    answer = settle(tx, job)
    assert rows_of(connection, written) == []
    tx.commit()

    assert answer.unblocked == ((dependent.id, "resize"),)
    (chain,) = store.perform_sync(GetChains((dependent.id,)))
    assert chain is not None
    assert (chain.last.status, rows_of(connection, written)) == (Status.PENDING, [1])


def test_a_settlement_waits_for_a_transaction_that_begins_to_wait_for_the_chain(
    store: PostgresStore, written: str, server: Postgres, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    write(tx, written)
    dependent = new_job(after=(job.chain_id,))
    with server.connect() as application:
        with application.transaction():
            store.join_sync(application).perform(Start((dependent,)))
            settling = waits(connection, lambda: settle(tx, job), pool)
        answer = settling.result()
    tx.commit()

    assert answer.unblocked == ((dependent.id, "resize"),)
    assert rows_of(connection, written) == [1]


def test_a_settlement_waits_for_a_renewal(
    store: PostgresStore, written: str, server: Postgres, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    write(tx, written)
    with server.connect() as renewing:
        with renewing.transaction():
            renewing.execute(f'update "{store.schema}".job set renewed_at = 1 where id = %s'.encode(), [job.id])
            settling = waits(connection, lambda: settle(tx, job), pool)
        assert settling.result().written

    assert (status(store, job), rows_of(connection, written)) == (Status.COMPLETED, [1])
    tx.commit()


def test_a_settlement_with_a_lost_claim_commits_nothing(
    store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    store.perform_sync(CancelChains((job.chain_id,)))
    tx = store.begin_lazily_sync()
    with suppress(ClaimLost):
        tx.perform(Guard(job.claim))
    write(tx, written)

    answer = settle(tx, job)
    tx.rollback()

    assert answer.lost == "cancelled"
    assert (status(store, job), rows_of(connection, written)) == (Status.CANCELLED, [])


@pytest.mark.parametrize("replaced", [b"commit; begin", b"rollback; begin"])
def test_a_settlement_does_not_commit_another_transaction_than_that_of_the_guard(
    replaced: bytes, store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    tx.native.pgconn.exec_(replaced)
    write(tx, written)

    settle(tx, job)
    with pytest.raises(RuntimeError, match="was ended by a statement of the application"):
        tx.commit()

    assert (status(store, job), rows_of(connection, written)) == (Status.RUNNING, [])


def test_a_deferred_constraint_that_fails_undoes_the_settlement(
    store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    tx = begun(store, job)
    write(tx, written, 1)
    write(tx, written, 1)

    with pytest.raises(Exception, match="duplicate key"):
        settle(tx, job)
    tx.rollback()

    assert (status(store, job), rows_of(connection, written)) == (Status.RUNNING, [])


def test_a_transaction_that_was_never_begun_keeps_its_connection(store: PostgresStore, trips: list[Sendable]) -> None:
    begun(store, claimed(store)).rollback()
    trips.clear()

    store.begin_lazily_sync().rollback()
    store.begin_lazily_sync().commit()

    assert trips == []


def test_a_guard_that_fails_leaves_no_open_transaction(store: PostgresStore, connection: psycopg.Connection) -> None:
    tx = store.begin_lazily_sync()
    store.perform_sync(Start((new_job(),)))
    with pytest.raises(ClaimLost):
        tx.perform(Guard(claimed(store).claim._replace(token="another")))

    tx.rollback()

    open_transactions = "select count(*) from pg_stat_activity where xact_start is not null and query ~ %s"
    assert connection.execute(f"{open_transactions} and pid <> pg_backend_pid()", [store.schema]).fetchone() == (0,)


def test_a_connection_whose_first_statement_fails_is_not_used_again(store: PostgresStore, server: Postgres) -> None:
    job = claimed(store)
    empty = PostgresStore(server.address(schema="empty", pool="1", notify="off"))
    for _ in range(2):  # the pool has one connection, which the first transaction must give back or close
        tx = empty.begin_lazily_sync()
        with pytest.raises(NotMigrated):
            tx.perform(Guard(job.claim))
        tx.rollback()
    empty.close_sync()


async def test_the_application_and_the_store_take_turns_on_one_connection(
    address: str, store: PostgresStore, written: str, connection: psycopg.Connection
) -> None:
    """The event loop must not lose the socket when the driver of the application stops its own watch."""
    single = PostgresStore(f"{address}&pool=1&notify=off&deadline=5")
    jobs = [claimed(store, token=f"token-{number}") for number in range(7)]
    for number, job in enumerate(jobs):
        async with asyncio.timeout(20):
            tx = await (single.begin() if number == 3 else single.begin_lazily())
            if number == 3:
                await tx.native.execute("select 1")
            await tx.perform(Guard(job.claim))
            await tx.native.execute(f"insert into {written} values (%s)", [number])
            (answer,) = await tx.perform(Settle((completed(job),), commits=number != 5))
            assert answer.written
            await tx.commit()
    await single.close()

    assert rows_of(connection, written) == list(range(7))


def test_behind_a_pooler_the_commit_is_a_round_trip(
    store: PostgresStore, written: str, server: Postgres, connection: psycopg.Connection
) -> None:
    job = claimed(store)
    with transaction_pooler(server.port) as port:
        pooled = PostgresStore(server.tcp_address(port=port, schema=store.schema, notify="off"))
        tx = begun(pooled, job)
        for number in range(8):
            write(tx, written, number)
        assert settle(tx, job).written
        assert rows_of(connection, written) == []
        tx.commit()
        pooled.close_sync()

    assert (status(store, job), rows_of(connection, written)) == (Status.COMPLETED, list(range(8)))
