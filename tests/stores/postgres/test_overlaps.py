"""Transactions that overlap, held open by hand: each race is shown to have happened by who had to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg
import pytest

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    Cancel,
    ClaimJobs,
    Complete,
    Completion,
    Delete,
    GetJobs,
    Listen,
    LockChain,
    Operation,
    ReadEvents,
    RetryJobs,
    Settle,
    Start,
    Started,
    TypeTerms,
)
from holdfast.errors import StillReferenced
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.connection import SyncConnection
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Many, Row, Statement
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.watching import wait_until_blocked

R = TypeVar("R")

TERMS = (TypeTerms("resize", 60_000_000, 25),)


def claim(store: PostgresStore, limit: int) -> list[Record]:
    return store.perform_sync(ClaimJobs(TERMS, limit, "worker", "token"))


def waits(connection: psycopg.Connection, action: Callable[[], R], pool: ThreadPoolExecutor) -> Future[R]:
    """Begin an action that must wait for somebody's lock, and come back once it does."""
    future = pool.submit(action)
    wait_until_blocked(connection, future.done)
    return future


@pytest.fixture
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


def test_two_blockers_that_finish_in_overlapping_transactions_free_their_dependent(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    first, second = new_job(), new_job()
    child = new_job("publish", after=(first.id, second.id))
    store.perform_sync(Start((first, second, child)))
    one, two = claim(store, 2)
    tx = store.begin_sync()
    tx.perform(Settle((completed(one),)))

    other = waits(connection, lambda: store.perform_sync(Settle((completed(two),))), pool)
    tx.commit()

    assert other.result()[0].unblocked == ((child.id, "publish"),)
    (job,) = store.perform_sync(GetJobs((child.id,)))
    assert job is not None
    assert (job.status, job.open_blockers) == (Status.PENDING, 0)


def test_a_job_that_begins_to_wait_while_its_blocker_ends_is_not_left_behind(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    blocker = new_job()
    store.perform_sync(Start((blocker,)))
    (held,) = claim(store, 1)
    child = new_job("publish", after=(blocker.id,))
    tx = store.begin_sync()
    tx.perform(Start((child,)))

    other = waits(connection, lambda: store.perform_sync(Settle((completed(held),))), pool)
    tx.commit()

    assert other.result()[0].written
    (job,) = store.perform_sync(GetJobs((child.id,)))
    assert job is not None
    assert job.status is Status.PENDING


def test_a_starter_that_meets_an_uncommitted_one_waits_for_it(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    first = new_job(key="one")
    tx = store.begin_sync()
    tx.perform(Start((first,)))

    other = waits(connection, lambda: store.perform_sync(Start((new_job(key="one"),))), pool)
    tx.commit()

    (started,) = other.result()
    assert started.deduplicated
    assert started.chain.first.id == first.id


def test_a_starter_that_waited_for_a_rollback_makes_the_chain_itself(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    tx = store.begin_sync()
    tx.perform(Start((new_job(key="one"),)))

    other = waits(connection, lambda: store.perform_sync(Start((new_job(key="one"),))), pool)
    tx.rollback()

    assert not other.result()[0].deduplicated


def test_of_a_cancel_and_a_settlement_the_first_to_commit_wins(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    store.perform_sync(Start((new_job(),)))
    (held,) = claim(store, 1)
    tx = store.begin_sync()
    tx.perform(Cancel((held.id,)))

    other = waits(connection, lambda: store.perform_sync(Settle((completed(held),))), pool)
    tx.commit()

    assert other.result()[0].lost == "cancelled"


def test_sixty_four_starts_with_one_key_make_one_chain(store: PostgresStore, address: str) -> None:
    stores = [PostgresStore(address) for _ in range(8)]
    barrier = threading.Barrier(64)
    answers: list[Started] = []

    def start(number: int) -> None:
        barrier.wait()
        started = stores[number % 8].perform_sync(Start((new_job(key="one"),)))
        answers.extend(started)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in stores:
        each.close_sync()

    assert sum(not answer.deduplicated for answer in answers) == 1
    assert len(answers) == 64
    assert len({answer.chain.first.id for answer in answers}) == 1


def test_events_wait_for_one_that_a_running_transaction_wrote_before_them(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    after = store.perform_sync(Listen("me", 60_000_000))
    early, late = new_job(), new_job()
    tx = store.begin_sync()
    tx.perform(Start((early,)))
    store.perform_sync(Start((late,)))

    held_back = store.perform_sync(ReadEvents(after, 10))
    tx.commit()
    reported = store.perform_sync(ReadEvents(after, 10))

    assert held_back == []
    assert [event.job_id for event in reported] == [early.id, late.id]


def test_a_number_that_a_rollback_took_along_holds_up_nothing(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    after = store.perform_sync(Listen("me", 60_000_000))
    tx = store.begin_sync()
    tx.perform(Start((new_job(),)))
    job = new_job()
    store.perform_sync(Start((job,)))
    with connection.transaction():
        # Some other transaction that writes, but no events.
        connection.execute(f'create table "{store.schema}".elsewhere (n int)'.encode())
        tx.rollback()

        reported = store.perform_sync(ReadEvents(after, 10))

    assert [event.job_id for event in reported] == [job.id]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("ending", ["complete", "cancel", "delete"])
def test_a_transaction_that_cannot_see_who_waits_for_a_chain_does_not_end_it(
    store: PostgresStore, server: Postgres, isolation: str, ending: str
) -> None:
    blocker = new_job()
    store.perform_sync(Start((blocker, new_job("publish", after=(blocker.id,)))))
    unseen = new_job("publish", after=(blocker.id,), on_blocker_failure="fail")
    operations: dict[str, Operation[Any]] = {
        "complete": Complete(blocker.id, blocker.id, (Completion(b"1"),)),
        "cancel": Cancel((blocker.id,)),
        "delete": Delete((blocker.id,), cascade=False),
    }

    with server.connect() as application:
        application.execute(f"begin isolation level {isolation}".encode())
        application.execute("select 1")
        store.perform_sync(Start((unseen,)))
        with pytest.raises(psycopg.errors.SerializationFailure):
            store.join_sync(application).perform(operations[ending])
        application.execute("rollback")

    (job,) = store.perform_sync(GetJobs((unseen.id,)))
    assert job is not None
    assert (job.status, job.open_blockers) == (Status.BLOCKED, 1)


def test_a_blocker_is_not_deleted_while_a_job_that_waits_for_it_is_retried(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    blocker = new_job()
    waiting = new_job("publish", after=(blocker.id,))
    store.perform_sync(Start((blocker, waiting)))
    store.perform_sync(Cancel((waiting.id,)))
    tx = store.begin_sync()
    tx.perform(RetryJobs((waiting.id,)))

    other = waits(connection, lambda: store.perform_sync(Delete((blocker.id,), cascade=False)), pool)
    tx.commit()

    with pytest.raises(StillReferenced):
        other.result()


@pytest.mark.parametrize("key", ["one", None], ids=["found by its key", "sent again"])
def test_a_chain_that_is_deleted_while_a_start_finds_it_is_started_anew(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    job = new_job(key=key)
    store.perform_sync(Start((job,)))
    execute = SyncConnection.execute
    deleted: list[str] = []

    def delete_first(link: SyncConnection, step: Statement | Many) -> list[Row]:
        if step.sql == SQL["chains"] and not deleted:
            deleted.append(job.id)
            store.perform_sync(Delete((job.id,)))
        return execute(link, step)

    monkeypatch.setattr(SyncConnection, "execute", delete_first)

    (started,) = store.perform_sync(Start((job if key is None else new_job(key=key),)))

    assert deleted
    assert not started.deduplicated
    assert store.perform_sync(GetJobs((started.chain.first.id,))) != [None]


@pytest.mark.parametrize("other", [new_job("publish"), new_job(priority=-1)], ids=["another type", "another priority"])
def test_a_job_that_somebody_holds_keeps_no_other_from_being_claimed(store: PostgresStore, other: NewJob) -> None:
    held = new_job()
    store.perform_sync(Start((held, other)))
    tx = store.begin_sync()
    tx.perform(LockChain(held.id))

    claimed = store.perform_sync(ClaimJobs((*TERMS, TypeTerms("publish", 60_000_000, 25)), 1, "worker", "token"))

    assert [job.id for job in claimed] == [other.id]
    tx.rollback()
