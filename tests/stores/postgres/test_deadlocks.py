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
from holdfast.stores.postgres import PostgresStore
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
