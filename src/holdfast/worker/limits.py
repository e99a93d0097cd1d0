"""Limits in a worker: it writes the declared numbers, and wakes workers when a job has released its lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from holdfast.core.lanes import lane_id
from holdfast.core.record import Record
from holdfast.engine.observers import Observers
from holdfast.engine.operations import DeclareLimits, LimitDeclaration
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError
from holdfast.registry.jobs import Jobs
from holdfast.registry.limits import AnyLimit, Order
from holdfast.worker.run_options import RunOptions


def declarations(limits: Iterable[AnyLimit]) -> tuple[LimitDeclaration, ...]:
    """These limits as a worker writes them to the store."""
    rules = (limit.rule(lane_id(limit.name, ""), 1) for limit in limits)
    return tuple(LimitDeclaration(rule.name, rule.kind, rule.number, rule.per, rule.burst) for rule in rules)


async def declare_limits(store: Store, options: Iterable[RunOptions], observers: Observers, worker_id: str) -> None:
    """Write the declared limits of these types to each shard, if there are any and they have changed."""
    limits = {limit.name: limit for each in options for limit in each.type.limits}
    if limits:
        declared = DeclareLimits(declarations(limits.values()))
        await asyncio.gather(*(_declare(shard, declared, observers, worker_id) for shard in store.shards))


async def _declare(shard: Store, declared: DeclareLimits, observers: Observers, worker_id: str) -> None:
    try:
        await shard.perform(declared)
    except HoldfastError as error:  # the store keeps the numbers that it has
        observers.emit("store_error", worker=worker_id, detail=f"declaring limits: {error}", cause=error)


def types_beside(jobs: Jobs) -> dict[str, set[str]]:
    """For each type with limits: the type itself, and the types that share a limit, rate or order with it."""
    users: dict[str, set[str]] = {}
    for job_type in jobs:
        for limit in job_type.limits:
            users.setdefault(limit.name, set()).add(job_type.name)
    return {each.name: {each.name}.union(*(users[limit.name] for limit in each.limits)) for each in jobs if each.limits}


def _spans_chain(limit: AnyLimit) -> bool:
    return isinstance(limit, Order) and limit.span == "chain"


class ReleasedLanes:
    """Wakes workers of the types whose jobs may wait for released lanes.

    Workers of types that share a limit with the job are woken too. Other workers are woken because this one may have no
    free slot, or may stop. All jobs that end in one iteration of the event loop share one wake-up: a settlement ends
    hundreds of jobs, and on SQLite each wake-up writes to a file.
    """

    def __init__(self, store: Store, jobs: Jobs) -> None:
        self._store = store
        self._beside = types_beside(jobs)
        self._spanning = {each.name for each in jobs if any(map(_spans_chain, each.limits))}
        """The types whose order lasts until the chain ends. They are woken even if the last job has no lanes."""
        self._types: set[str] = set()

    def add(self, job: Record) -> None:
        """Send a wake-up soon: the job has ended, or its claim is lost."""
        types = self._spanning if job.index else set[str]()
        if job.details is not None and '"lanes":' in job.details:
            types = types | self._beside.get(job.type, {job.type})
        if not types:
            return
        if not self._types:
            try:
                asyncio.get_running_loop().call_soon(self._send)
            except RuntimeError:  # in a thread, while the event loop is blocked
                self._store.wakeups.send(Hints(due=set(types)))
                return
        self._types |= types

    def _send(self) -> None:
        types, self._types = self._types, set()
        self._store.wakeups.send(Hints(due=types))
