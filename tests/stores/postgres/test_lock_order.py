"""Who must wait for a job holds no other, and steps that need not happen now wait for nobody.

Somebody holds one of the jobs that a verb comes to. If the verb kept another meanwhile, it would hold what somebody
wants next, and the two would wait for each other: a deadlock.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    Cancel,
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
from tests.stores.postgres.watching import wait_until_blocked

LEASE = 60_000_000


class Web:
    """A chain that another waits for, and that came to wait itself, for one that was created later.

    In the order of creation: the chain's first job, `child`, `late`, the chain's `second` job. What begins with the
    end of `late` comes to `child` last.
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


def failing(web: Web) -> Operation[Any]:
    return Settle((failed(web.claim("late")),))


def starting_beside(web: Web) -> Operation[Any]:
    return Settle((completed(web.claim("late"), starts=(new_job(after=(web.child.id,)),)),))


def continuing_after(web: Web) -> Operation[Any]:
    late = web.claim("late")
    return Settle((continued(late, next_job(late, after=(web.child.id,))),))


def continuing_into_failure(web: Web) -> Operation[Any]:
    over = new_job("over")
    web.store.perform_sync(Start((over,)))
    web.store.perform_sync(Cancel((over.id,)))
    late = web.claim("late")
    return Settle((continued(late, next_job(late, after=(over.id,), on_blocker_failure="fail")),))


def cancelling(web: Web) -> Operation[Any]:
    return Cancel((web.late.id,))


def completing(web: Web) -> Operation[Any]:
    return Complete(web.first.id, web.second.id, (Completion(output=b"1"),))


def deleting(web: Web) -> Operation[Any]:
    return Delete((web.first.id, web.child.id), cascade=True)


@pytest.mark.parametrize(
    "act",
    [failing, starting_beside, continuing_after, continuing_into_failure, cancelling, completing, deleting],
    ids=lambda act: act.__name__,
)
@pytest.mark.parametrize("held", ["first", "last"])
def test_who_waits_for_a_job_holds_no_other(
    act: Callable[[Web], Operation[Any]], held: str, store: PostgresStore, connection: psycopg.Connection
) -> None:
    web = Web(store)
    operation = act(web)
    everything = [web.first.id, web.child.id, web.late.id, web.second.id]
    # Deleting comes to the finished one, too.
    first = web.first if act is deleting else web.child
    last = web.second if act in (completing, deleting) else web.late
    one = (first if held == "first" else last).id
    with ThreadPoolExecutor(1) as pool, psycopg.connect(connection.info.dsn) as other:
        lock(other, store, one)

        going_on = pool.submit(store.perform_sync, operation)
        wait_until_blocked(connection, going_on.done)
        assert set(everything) - set(free(connection, store)) == {one}
        other.rollback()

        going_on.result(30)


def test_keys_are_held_before_jobs(store: PostgresStore, connection: psycopg.Connection) -> None:
    web = Web(store)
    starts = (new_job("child", key="one"),)
    operation = Settle((completed(web.claim("late"), starts=starts),))
    tx = store.begin_sync()
    tx.perform(Start((new_job("child", key="one"),)))
    with ThreadPoolExecutor(1) as pool:
        going_on = pool.submit(store.perform_sync, operation)
        wait_until_blocked(connection, going_on.done)
        # Whoever holds the key may go on to any job.
        assert free(connection, store) == [web.first.id, web.child.id, web.late.id, web.second.id]
        tx.perform(Cancel((web.first.id, web.late.id)))
        tx.commit()

        (settled,) = going_on.result(30)
    assert settled.lost == "cancelled"


def test_reaping_waits_for_nobody(store: PostgresStore, connection: psycopg.Connection) -> None:
    clock = store.clock = ManualClock()
    web = Web(store)
    web.claim("late")
    clock.advance(600)
    with psycopg.connect(connection.info.dsn) as other:
        lock(other, store, web.child.id)

        assert store.perform_sync(Reap(("late",), (), 10)) == []

    assert len(store.perform_sync(Reap(("late",), (), 10))) == 1
    found = store.perform_sync(GetJobs((web.late.id, web.second.id, web.child.id)))
    assert [job and job.status for job in found] == [Status.FAILED] * 3


def test_pruning_waits_for_nobody(store: PostgresStore, connection: psycopg.Connection) -> None:
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


def test_pruning_waits_for_nobody_who_deletes_what_waited_for_its_chain(
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
            assert pruning.result(30) == []
        finally:
            tx.commit()

    assert store.perform_sync(Prune(10)) == [blocker.id]


def test_who_listens_waits_for_no_other_listener(store: PostgresStore, connection: psycopg.Connection) -> None:
    clock = store.clock = ManualClock()
    store.perform_sync(Listen("other", LEASE))
    clock.advance(600)
    with psycopg.connect(connection.info.dsn) as other, ThreadPoolExecutor(1) as pool:
        other.execute(f'select from "{store.schema}".listener for update'.encode())
        listening = pool.submit(store.perform_sync, Listen("one", LEASE))
        try:
            listening.result(30)
        finally:
            other.rollback()

    store.perform_sync(Listen("one", LEASE))
    assert connection.execute(f'select name from "{store.schema}".listener'.encode()).fetchall() == [("one",)]


def lock(connection: psycopg.Connection, store: PostgresStore, job_id: str) -> None:
    connection.execute(f'select 1 from "{store.schema}".job where id = %s for update'.encode(), [job_id])


def free(connection: psycopg.Connection, store: PostgresStore) -> list[str]:
    """The jobs that nobody holds."""
    rows = connection.execute(f'select id from "{store.schema}".job order by seq for update skip locked'.encode())
    return [row[0] for row in rows]
