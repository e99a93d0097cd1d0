"""Transactions that affect the chains of each other do not wait for each other, or the error names the deadlock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    ClaimJobs,
    Complete,
    Completion,
    GetJobs,
    Guard,
    LockChain,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.errors import Deadlock, DependencyCycle
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, continued, new_job, next_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.waiting import wait_until_blocked


def test_two_attempts_that_continue_after_each_others_chain_do_not_wait_for_each_other(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    store.perform_sync(Start((new_job("one"), new_job("two"))))
    one, two = [
        store.perform_sync(ClaimJobs((TypeTerms(type, 60_000_000, 25),), 1, "worker", f"token-{type}"))[0]
        for type in ("one", "two")
    ]
    first, second = store.begin_sync(), store.begin_sync()
    first.perform(Guard(one.claim))
    second.perform(Guard(two.claim))
    with ThreadPoolExecutor(1) as pool:
        (written,) = first.perform(Settle((continued(one, next_job(one, after=(two.id,))),)))
        operation = pool.submit(second.perform, Settle((continued(two, next_job(two, after=(one.id,))),)))
        wait_until_blocked(connection, operation.done)
        first.commit()
        (refused,) = operation.result(60)
        second.rollback()

    assert written.written
    assert isinstance(refused.refused, DependencyCycle)
    assert refused.refused.chain_ids == [two.id, one.id]
    (job,) = store.perform_sync(GetJobs((two.id,)))
    assert job is not None
    assert job.status is Status.RUNNING


def a_pending_job(store: PostgresStore, type: str) -> Record:
    return store.perform_sync(Start((new_job(type),)))[0].chain.first


def a_running_job(store: PostgresStore, type: str) -> Record:
    a_pending_job(store, type)
    return store.perform_sync(ClaimJobs((TypeTerms(type, 60_000_000, 25),), 1, "worker", f"token-{type}"))[0]


def continue_after(job: Record, other: Record) -> Complete:
    return Complete(job.chain_id, job.id, (Completion(continuation=next_job(job, after=(other.chain_id,))),))


@pytest.mark.parametrize("make", [(a_pending_job, a_pending_job), (a_pending_job, a_running_job)], ids=["both", "one"])
def test_two_completions_that_continue_after_each_others_chain_do_not_wait_for_each_other(
    make: tuple[Callable[[PostgresStore, str], Record], Callable[[PostgresStore, str], Record]],
    store: PostgresStore,
    connection: psycopg.Connection,
) -> None:
    one, two = make[0](store, "one"), make[1](store, "two")
    first, second = store.begin_sync(), store.begin_sync()
    first.perform(LockChain(one.id))
    second.perform(LockChain(two.id))
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(first.perform, continue_after(one, two)) if make[1] is a_running_job else None
        if refused is not None:
            wait_until_blocked(connection, refused.done)
        second.perform(continue_after(two, one))
        refused = refused or pool.submit(first.perform, continue_after(one, two))
        wait_until_blocked(connection, refused.done)
        second.commit()
        with pytest.raises(DependencyCycle) as raised:
            refused.result(60)
        first.rollback()

    assert raised.value.chain_ids == [one.id, two.id]
    assert store.perform_sync(GetJobs((one.id,)))[0] == one


def test_a_completion_and_one_of_its_blocked_dependent_do_not_wait_for_each_other(
    store: PostgresStore, connection: psycopg.Connection, deadlocks: list[str]
) -> None:
    """The dependent names the chain again, and the end of the chain needs the dependent."""
    blocker = a_pending_job(store, "blocker")
    dependent = store.perform_sync(Start((new_job("dependent", after=(blocker.id,)),)))[0].chain.first
    ending, continuing = store.begin_sync(), store.begin_sync()
    ending.perform(LockChain(blocker.id))
    continuing.perform(LockChain(dependent.id))
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(ending.perform, Complete(blocker.id, blocker.id, (Completion(output=b"1"),)))
        wait_until_blocked(connection, ended.done)
        continuing.perform(continue_after(dependent, blocker))
        continuing.commit()
        assert [type for _, type in ended.result(60).unblocked] == ["publish"]
        ending.commit()

    assert deadlocks == []


def test_completions_of_one_chain_take_turns(store: PostgresStore, connection: psycopg.Connection) -> None:
    job = a_pending_job(store, "resize")
    first, second = store.begin_sync(), store.begin_sync()
    first.perform(LockChain(job.id))
    with ThreadPoolExecutor(1) as pool:
        locking = pool.submit(second.perform, LockChain(job.id))
        wait_until_blocked(connection, locking.done)
        assert store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", "token")) == []
        first.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))
        first.commit()
        assert locking.result(60).status is Status.COMPLETED
        second.rollback()

    keys = connection.execute(f'select count(*) from "{store.schema}".key'.encode()).fetchone()
    assert keys == (0,), "the lock that admits one completion leaves no row"


def test_a_start_after_a_chain_does_not_wait_for_its_completion_from_outside(store: PostgresStore) -> None:
    job = a_pending_job(store, "resize")
    tx = store.begin_sync()
    tx.perform(LockChain(job.id))

    waiting = store.perform_sync(Start((new_job("wait", after=(job.id,)),)))[0].chain.first
    settled = tx.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))
    tx.commit()

    assert settled.unblocked == ((waiting.id, "wait"),)


def start_after(job: Record) -> Start:
    return Start((new_job("side", after=(job.chain_id,)),))


@pytest.mark.parametrize("joined", [False, True], ids=["own", "tx"])
def test_a_deadlock_of_two_transactions_ends_one_with_an_error_that_says_so(
    joined: bool, store: PostgresStore, server: Postgres, connection: psycopg.Connection
) -> None:
    """Each starts a chain after the other one's chain, and then ends its own."""
    one, two = a_pending_job(store, "one"), a_pending_job(store, "two")

    def end(tx: Any, job: Record, owner: Any) -> Deadlock | None:
        try:
            tx.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))
        except Deadlock as error:
            owner.rollback()
            return error
        owner.commit()
        return None

    with server.connect() as application, ThreadPoolExecutor(1) as pool:
        application.execute("set application_name = 'holdfast'")
        application.autocommit = False
        first = store.begin_sync()
        second: Any = store.join_sync(application) if joined else store.begin_sync()
        first.perform(LockChain(one.id))
        second.perform(LockChain(two.id))
        first.perform(start_after(two))
        second.perform(start_after(one))
        ending = pool.submit(end, first, one, first)
        wait_until_blocked(connection, ending.done)
        errors = [end(second, two, application if joined else second), ending.result(60)]

    (error,) = [error for error in errors if error is not None]
    assert (error.verb, "Run the whole transaction again" in str(error)) == ("complete", True)
    jobs = store.perform_sync(GetJobs((one.id, two.id)))
    assert sorted(job.status.value for job in jobs if job is not None) == ["completed", "pending"]


@pytest.mark.parametrize("joined", [False, True], ids=["own", "tx"])
def test_an_attempt_and_a_completion_of_its_blocked_dependent_do_not_wait_for_each_other(
    joined: bool, store: PostgresStore, server: Postgres, connection: psycopg.Connection
) -> None:
    """The dependent names the chain of the attempt again, and the end of the attempt needs the dependent."""
    running = a_running_job(store, "running")
    dependent = store.perform_sync(Start((new_job("dependent", after=(running.id,)),)))[0].chain.first
    with server.connect() as application, ThreadPoolExecutor(1) as pool:
        application.execute("set application_name = 'holdfast'")
        application.autocommit = False
        attempt: Any = store.join_sync(application) if joined else store.begin_sync()
        completion = store.begin_sync()
        attempt.perform(Guard(running.claim))
        completion.perform(LockChain(dependent.id))
        ended = pool.submit(attempt.perform, Settle((completed(running),)))
        wait_until_blocked(connection, ended.done)
        completion.perform(continue_after(dependent, running))
        completion.commit()
        (settled,) = ended.result(60)
        (application if joined else attempt).commit()

    assert [type for _, type in settled.unblocked] == ["publish"]
