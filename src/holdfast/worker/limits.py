"""What a worker does for limits: write the declared numbers, and wake workers when a job has released its lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from holdfast.core.lanes import lane_id
from holdfast.core.record import Record
from holdfast.engine.observers import Observers
from holdfast.engine.operations import DeclareLimits, LimitDeclaration
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints, Wakeups
from holdfast.errors import HoldfastError
from holdfast.registry.limits import AnyLimit
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


def lanes_released(wakeups: Wakeups, job: Record) -> None:
    """Wake workers of the job's type if the job had lanes. Their claim wakes the workers of other types that wait."""
    if job.details is not None and '"lanes":' in job.details:
        wakeups.send(Hints(due={job.type}))
