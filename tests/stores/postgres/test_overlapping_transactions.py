"""Overlapping transactions. Each test keeps one open, and shows the race by the operation that has to wait."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    Delete,
    Filter,
    GetJobs,
    Listen,
    ListJobs,
    LockChain,
    Operation,
    ReadEvents,
    RetryJobs,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import StillReferenced
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, new_job
from holdfast.testing.lanes import laned, order
from tests.servers.postgres import Postgres
from tests.stores.postgres.claims import TERMS, claim
from tests.stores.postgres.waiting import waits


def test_two_blockers_that_finish_in_overlapping_transactions_unblock_their_dependent(
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


def test_a_job_that_begins_to_wait_while_its_blocker_ends_is_unblocked(
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


def test_of_a_cancel_and_a_settlement_the_first_to_commit_wins(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    store.perform_sync(Start((new_job(),)))
    (held,) = claim(store, 1)
    tx = store.begin_sync()
    tx.perform(CancelChains((held.id,)))

    other = waits(connection, lambda: store.perform_sync(Settle((completed(held),))), pool)
    tx.commit()

    assert other.result()[0].lost == "cancelled"


def test_events_are_returned_after_earlier_events_of_open_transactions(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    after = store.perform_sync(Listen("me", 60_000_000))
    early, late = new_job(), new_job()
    tx = store.begin_sync()
    tx.perform(Start((early,)))
    store.perform_sync(Start((late,)))

    before_commit = store.perform_sync(ReadEvents(after, 10))
    tx.commit()
    events = store.perform_sync(ReadEvents(after, 10))

    assert before_commit == []
    assert [event.job_id for event in events] == [early.id, late.id]


def test_a_gap_of_a_rolled_back_transaction_delays_no_events(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    after = store.perform_sync(Listen("me", 60_000_000))
    tx = store.begin_sync()
    tx.perform(Start((new_job(),)))
    job = new_job()
    store.perform_sync(Start((job,)))
    with connection.transaction():
        # Another open transaction that writes no events.
        connection.execute(f'create table "{store.schema}".elsewhere (n int)'.encode())
        tx.rollback()

        events = store.perform_sync(ReadEvents(after, 10))

    assert [event.job_id for event in events] == [job.id]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("ending", ["complete", "cancel", "delete"])
def test_a_transaction_with_an_older_snapshot_does_not_end_a_chain_with_new_dependents(
    store: PostgresStore, server: Postgres, isolation: str, ending: str
) -> None:
    blocker = new_job()
    store.perform_sync(Start((blocker, new_job("publish", after=(blocker.id,)))))
    unseen = new_job("publish", after=(blocker.id,), on_blocker_failure="fail")
    operations: dict[str, Operation[Any]] = {
        "complete": Complete(blocker.id, blocker.id, (Completion(b"1"),)),
        "cancel": CancelChains((blocker.id,)),
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


def test_a_blocker_is_not_deleted_while_its_dependent_is_retried(
    store: PostgresStore, connection: psycopg.Connection, pool: ThreadPoolExecutor
) -> None:
    blocker = new_job()
    waiting = new_job("publish", after=(blocker.id,))
    store.perform_sync(Start((blocker, waiting)))
    store.perform_sync(CancelChains((waiting.id,)))
    tx = store.begin_sync()
    tx.perform(RetryJobs((waiting.id,)))

    other = waits(connection, lambda: store.perform_sync(Delete((blocker.id,), cascade=False)), pool)
    tx.commit()

    with pytest.raises(StillReferenced):
        other.result()


@pytest.mark.parametrize("other", [new_job("publish"), new_job(priority=-1)], ids=["another type", "another priority"])
def test_a_locked_job_does_not_keep_others_from_being_claimed(store: PostgresStore, other: NewJob) -> None:
    held = new_job()
    store.perform_sync(Start((held, other)))
    tx = store.begin_sync()
    tx.perform(LockChain(held.id))

    claimed = store.perform_sync(ClaimJobs((*TERMS, TypeTerms("publish", 60_000_000, 25)), 1, "worker", "token"))

    assert [job.id for job in claimed] == [other.id]
    tx.rollback()


def test_a_job_that_commits_after_a_later_one_was_claimed_runs_after_that_one(store: PostgresStore) -> None:
    early, later, last = (laned(order()) for _ in range(3))
    tx = store.begin_sync()
    tx.perform(Start((early,)))
    # A start takes no lock that lasts until the commit: this one does not wait.
    store.perform_sync(Start((later,)))
    assert [job.id for job in claim(store, 9)] == [later.id]

    tx.commit()
    store.perform_sync(Start((last,)))
    assert claim(store, 9) == []

    for expected in (early, last):
        (running,) = store.perform_sync(ListJobs(Filter(statuses=(Status.RUNNING,)), 9))
        store.perform_sync(Settle((completed(running),)))
        assert [job.id for job in claim(store, 9)] == [expected.id]
