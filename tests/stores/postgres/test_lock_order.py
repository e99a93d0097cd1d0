"""An operation that waits for a job locks no other job, and operations that can be postponed never wait.

Another transaction locks one of the jobs that a verb needs. If the verb locked others meanwhile, the other transaction
could wait for those: a deadlock.
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
    Listen,
    Operation,
    Prune,
    Reap,
    Settle,
    Start,
    TypeTerms,
)
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.clock import ManualClock
from tests.stores.postgres.waiting import wait_until_blocked

LEASE = 60_000_000


class Graph:
    """A chain with a dependent, which itself waits for a chain that was created later.

    In the order of creation: the chain's first job, `child`, `late`, the chain's `second` job. An operation that ends
    `late` affects `child` last.
    """

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.first = new_job("first")
        self.child = new_job("child", after=(self.first.id,), on_blocker_failure="fail")
        self.late = new_job("late", max_attempts=1)
        store.perform_sync(Start((self.first, self.child, self.late)))
        claimed = self.claim("first")
        self.second = next_job(claimed, after=(self.late.id,), on_blocker_failure="fail")
        store.perform_sync(Settle((continued(claimed, self.second),)))

    def claim(self, type: str) -> Record:
        (job,) = self.store.perform_sync(ClaimJobs((TypeTerms(type, LEASE, 25),), 1, "worker", f"token-{type}"))
        return job


def failing(graph: Graph) -> Operation[Any]:
    return Settle((failed(graph.claim("late")),))


def starting_beside(graph: Graph) -> Operation[Any]:
    return Settle((completed(graph.claim("late"), starts=(new_job(after=(graph.child.id,)),)),))


def continuing_after(graph: Graph) -> Operation[Any]:
    late = graph.claim("late")
    return Settle((continued(late, next_job(late, after=(graph.child.id,))),))


def continuing_into_failure(graph: Graph) -> Operation[Any]:
    over = new_job("over")
    graph.store.perform_sync(Start((over,)))
    graph.store.perform_sync(CancelChains((over.id,)))
    late = graph.claim("late")
    return Settle((continued(late, next_job(late, after=(over.id,), on_blocker_failure="fail")),))


def cancelling(graph: Graph) -> Operation[Any]:
    return CancelChains((graph.late.id,))


def completing(graph: Graph) -> Operation[Any]:
    return Complete(graph.first.id, graph.second.id, (Completion(output=b"1"),))


def deleting(graph: Graph) -> Operation[Any]:
    return Delete((graph.first.id, graph.child.id), cascade=True)


@pytest.mark.parametrize(
    "act",
    [failing, starting_beside, continuing_after, continuing_into_failure, cancelling, completing, deleting],
    ids=lambda act: act.__name__,
)
@pytest.mark.parametrize("held", ["first", "last"])
def test_an_operation_that_waits_for_a_job_locks_no_other(
    act: Callable[[Graph], Operation[Any]], held: str, store: PostgresStore, connection: psycopg.Connection
) -> None:
    graph = Graph(store)
    operation = act(graph)
    everything = [graph.first.id, graph.child.id, graph.late.id, graph.second.id]
    # A deletion locks the finished job, too.
    first = graph.first if act is deleting else graph.child
    last = graph.second if act in (completing, deleting) else graph.late
    one = (first if held == "first" else last).id
    with ThreadPoolExecutor(1) as pool, psycopg.connect(connection.info.dsn) as other:
        lock(other, store, one)

        waiting = pool.submit(store.perform_sync, operation)
        wait_until_blocked(connection, waiting.done)
        assert set(everything) - set(free(connection, store)) == {one}
        other.rollback()

        waiting.result(60)


def test_keys_are_locked_before_jobs(store: PostgresStore, connection: psycopg.Connection) -> None:
    graph = Graph(store)
    starts = (new_job("child", key="one"),)
    operation = Settle((completed(graph.claim("late"), starts=starts),))
    tx = store.begin_sync()
    tx.perform(Start((new_job("child", key="one"),)))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.perform_sync, operation)
        wait_until_blocked(connection, waiting.done)
        # The transaction that locks the key can lock any job.
        assert free(connection, store) == [graph.first.id, graph.child.id, graph.late.id, graph.second.id]
        tx.perform(CancelChains((graph.first.id, graph.late.id)))
        tx.commit()

        (settled,) = waiting.result(60)
    assert settled.lost == "cancelled"


def test_reaping_never_waits(store: PostgresStore, connection: psycopg.Connection) -> None:
    clock = store.clock = ManualClock()
    graph = Graph(store)
    graph.claim("late")
    clock.advance(600)
    with psycopg.connect(connection.info.dsn) as other:
        lock(other, store, graph.child.id)

        assert store.perform_sync(Reap(("late",), (), 10)) == []

    assert len(store.perform_sync(Reap(("late",), (), 10))) == 1
    found = store.perform_sync(GetJobs((graph.late.id, graph.second.id, graph.child.id)))
    assert [job and job.status for job in found] == [Status.FAILED] * 3


def test_pruning_never_waits(store: PostgresStore, connection: psycopg.Connection) -> None:
    clock = store.clock = ManualClock()
    busy, free = new_job(keep=1), new_job("other", keep=1)
    store.perform_sync(Start((busy, free)))
    for type in ("resize", "other", "publish"):
        (job,) = store.perform_sync(ClaimJobs((TypeTerms(type, LEASE, 25),), 1, "worker", f"token-{type}"))
        ends = type != "resize"
        store.perform_sync(Settle((completed(job) if ends else continued(job, next_job(job, keep=1)),)))
    clock.advance(600)
    with psycopg.connect(connection.info.dsn) as other:
        lock(other, store, busy.id)

        assert store.perform_sync(Prune(10)) == [free.id]

    assert store.perform_sync(Prune(10)) == [busy.id]


def test_pruning_does_not_wait_for_the_deletion_of_a_dependent(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    clock = store.clock = ManualClock()
    blocker = new_job(keep=1)
    child = new_job("child", after=(blocker.id,), keep=None)
    store.perform_sync(Start((blocker, child)))
    for type in ("resize", "child"):
        (job,) = store.perform_sync(ClaimJobs((TypeTerms(type, LEASE, 25),), 1, "worker", f"token-{type}"))
        store.perform_sync(Settle((completed(job),)))
    clock.advance(600)
    tx = store.begin_sync()
    tx.perform(Delete((child.id,)))
    with ThreadPoolExecutor(1) as pool:
        pruning = pool.submit(store.perform_sync, Prune(10))
        try:
            assert pruning.result(60) == []
        finally:
            tx.commit()

    assert store.perform_sync(Prune(10)) == [blocker.id]


def test_a_listener_does_not_wait_for_another_listener(store: PostgresStore, connection: psycopg.Connection) -> None:
    clock = store.clock = ManualClock()
    store.perform_sync(Listen("other", LEASE))
    clock.advance(600)
    with psycopg.connect(connection.info.dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute(f'select from "{store.schema}".listener for update'.encode())
        listening = pool.submit(store.perform_sync, Listen("one", LEASE))
        try:
            listening.result(60)
        finally:
            other.rollback()

    store.perform_sync(Listen("one", LEASE))
    assert connection.execute(f'select name from "{store.schema}".listener'.encode()).fetchall() == [("one",)]


def lock(connection: psycopg.Connection, store: PostgresStore, job_id: str) -> None:
    connection.execute(f'select 1 from "{store.schema}".job where id = %s for update'.encode(), [job_id])


def free(connection: psycopg.Connection, store: PostgresStore) -> list[str]:
    """The jobs that no transaction locks."""
    rows = connection.execute(f'select id from "{store.schema}".job order by seq for update skip locked'.encode())
    return [row[0] for row in rows]
