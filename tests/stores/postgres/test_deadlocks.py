"""No deadlocks: an operation that waits for a lock holds no lock that another transaction could wait for.

A transaction locks a job while code of the application runs: an attempt, or a completion from outside. An operation
that affects this job and others waits for it. Then the code ends, and its transaction locks the others. If the
operation kept their locks while it waited, the server would have to end one of the two transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    ClaimJobs,
    Complete,
    Completion,
    Delete,
    GetJobs,
    Guard,
    Keep,
    LockChain,
    Operation,
    RetryJobs,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.engine.store import SyncTransaction
from holdfast.errors import Deadlock, DependencyCycle
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.errors import RetrySchedule
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from tests.servers.postgres import Postgres
from tests.stores.postgres.waiting import wait_until_blocked


class Graph:
    """`child` waits for the chain of `first` and `second`. The child is older than `second`, which runs."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.first = new_job("first")
        self.child = new_job("child", after=(self.first.id,), on_blocker_failure="fail", key="child")
        self.separate = new_job("separate")
        store.perform_sync(Start((self.first, self.child, self.separate)))
        claimed = self.claim("first")
        store.perform_sync(Settle((continued(claimed, next_job(claimed, "second")),)))
        self.running = self.claim("second")

    def claim(self, type: str) -> Record:
        (job,) = self.store.perform_sync(ClaimJobs((TypeTerms(type, 60_000_000, 25),), 1, "worker", f"token-{type}"))
        return job


@pytest.fixture
def deadlocks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs that failed with a deadlock. The store repeats them, so a caller does not notice."""
    seen: list[str] = []
    pause = RetrySchedule.pause

    def recording(schedule: RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        if getattr(error, "sqlstate", None) == "40P01":
            seen.append(operation.verb)
        return pause(schedule, operation, error)

    monkeypatch.setattr(RetrySchedule, "pause", recording)
    return seen


def an_attempt(graph: Graph, tx: SyncTransaction) -> Operation[Any]:
    tx.perform(Guard(graph.running.claim))
    return Settle((completed(graph.running),))


def a_completion(graph: Graph, tx: SyncTransaction) -> Operation[Any]:
    tx.perform(LockChain(graph.first.id))
    return Complete(graph.first.id, graph.running.id, (Completion(output=b"1"),))


def cancelling(graph: Graph) -> Operation[Any]:
    return CancelChains((graph.first.id, graph.child.id))


def deleting(graph: Graph) -> Operation[Any]:
    return Delete((graph.first.id, graph.child.id))


def deleting_with_blockers(graph: Graph) -> Operation[Any]:
    return Delete((graph.child.id,), cascade=True)


def keeping(graph: Graph) -> Operation[Any]:
    return Keep((graph.child.id, graph.first.id), 1)


def cancelling_the_blocker(graph: Graph) -> Operation[Any]:
    return CancelChains((graph.first.id,))


def settling(graph: Graph) -> Operation[Any]:
    return Settle((completed(graph.running),))


def failing(graph: Graph) -> Operation[Any]:
    return Settle((failed(graph.running),))


OPERATIONS = [cancelling, cancelling_the_blocker, deleting, deleting_with_blockers, keeping]


@pytest.mark.parametrize("act", [*OPERATIONS, settling, failing], ids=lambda act: act.__name__)
@pytest.mark.parametrize("hold", [an_attempt, a_completion], ids=lambda hold: hold.__name__)
def test_a_transaction_that_locks_a_job_while_code_runs_can_lock_its_dependents(
    hold: Callable[[Graph, SyncTransaction], Operation[Any]],
    act: Callable[[Graph], Operation[Any]],
    store: PostgresStore,
    connection: psycopg.Connection,
    deadlocks: list[str],
) -> None:
    graph = Graph(store)
    tx = store.begin_sync()
    ending = hold(graph, tx)
    with ThreadPoolExecutor(1) as pool:
        operation = pool.submit(store.perform_sync, act(graph))
        wait_until_blocked(connection, operation.done)
        tx.perform(ending)
        tx.commit()
        operation.result(60)

    (job,) = store.perform_sync(GetJobs((graph.running.id,)))
    assert job is None or job.status is Status.COMPLETED
    assert deadlocks == []


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
@pytest.mark.parametrize("act", OPERATIONS, ids=lambda act: act.__name__)
def test_an_operation_in_the_applications_transaction_waits_without_locks_too(
    act: Callable[[Graph], Operation[Any]],
    isolation: str,
    store: PostgresStore,
    server: Postgres,
    connection: psycopg.Connection,
) -> None:
    graph = Graph(store)
    tx = store.begin_sync()
    ending = an_attempt(graph, tx)
    with ThreadPoolExecutor(1) as pool, server.connect() as application:
        application.execute("set application_name = 'holdfast'")
        application.execute(f"begin isolation level {isolation}".encode())
        operation = pool.submit(store.join_sync(application).perform, act(graph))
        wait_until_blocked(connection, operation.done)
        tx.perform(ending)
        tx.commit()

        if isolation == "read committed":
            operation.result(60)
        else:
            # The snapshot is outdated; the application repeats the transaction.
            with pytest.raises(psycopg.errors.SerializationFailure):
                operation.result(60)
        application.execute("rollback")

    (child,) = store.perform_sync(GetJobs((graph.child.id,)))
    assert child is not None
    assert (child.status, child.open_blockers) == (Status.PENDING, 0)


def starting_with_the_key(graph: Graph) -> Operation[Any]:
    return Start((new_job("child", key="free", after=(graph.first.id,)),))


def retrying(graph: Graph) -> Operation[Any]:
    return RetryJobs((graph.child.id,))


@pytest.mark.parametrize("act", [starting_with_the_key, retrying], ids=lambda act: act.__name__)
def test_an_operation_that_waits_for_a_job_holds_no_key(
    act: Callable[[Graph], Operation[Any]],
    store: PostgresStore,
    connection: psycopg.Connection,
    deadlocks: list[str],
) -> None:
    graph = Graph(store)
    store.perform_sync(CancelChains((graph.child.id,)))
    tx = store.begin_sync()
    # A retry locks only the first job of a blocker, so that job must be locked here.
    jobs = [graph.first.id, graph.running.id]
    tx.native.execute(f'select from "{store.schema}".job where id = any(%s) for update'.encode(), [jobs])
    with ThreadPoolExecutor(1) as pool:
        operation = pool.submit(store.perform_sync, act(graph))
        wait_until_blocked(connection, operation.done)
        tx.perform(Start((new_job("child", key="free"), new_job("child", key="child"))))
        tx.rollback()
        operation.result(60)

    assert deadlocks == []


def test_a_settlement_of_several_jobs_holds_none_while_it_waits_for_another(
    store: PostgresStore, connection: psycopg.Connection, deadlocks: list[str]
) -> None:
    graph = Graph(store)
    separate = graph.claim("separate")
    tx = store.begin_sync()
    current = tx.perform(LockChain(graph.first.id))
    follows = next_job(current, after=(separate.id,))
    with ThreadPoolExecutor(1) as pool:
        operation = pool.submit(store.perform_sync, Settle((completed(separate), completed(graph.running))))
        wait_until_blocked(connection, operation.done)
        tx.perform(Complete(graph.first.id, current.id, (Completion(continuation=follows),)))
        tx.commit()
        settled = operation.result(60)

    assert deadlocks == []
    assert [each.lost for each in settled] == [None, "already_completed"]
    (job,) = store.perform_sync(GetJobs((follows.id,)))
    assert job is not None
    assert job.status is Status.PENDING


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
