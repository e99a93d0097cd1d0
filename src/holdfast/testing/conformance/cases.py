"""The list of all cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from inspect import iscoroutinefunction
from types import ModuleType
from typing import Any

from holdfast.testing.conformance import (
    audit,
    audit_unchanged,
    blocker_types,
    blockers,
    cancel,
    claim,
    claim_ahead,
    complete,
    continuation,
    counters,
    cycle_races,
    cycles,
    dedup,
    dedup_for,
    delete,
    error_groups,
    events,
    explain,
    fairness,
    fencing,
    filters,
    history,
    hook_races,
    hooks,
    keep,
    lane_fronts,
    limit_numbers,
    limit_release,
    limits,
    listing,
    logs,
    messages,
    mismatch,
    next_due,
    order_spans,
    orders,
    origins,
    pause,
    progress,
    propagation,
    prune,
    races,
    rates,
    reading,
    reap,
    renew,
    replacing,
    replacing_waits,
    retry,
    run_now,
    schedules,
    settle,
    start,
    stats,
    steps,
    suspension,
    transactions,
    wakeups,
    weights,
    when,
    when_races,
    when_retried,
    workers,
)
from holdfast.testing.conformance.barrier import drive
from holdfast.testing.conformance.harness import Harness, Mode, StoreFactory

TOPICS: tuple[ModuleType, ...] = (
    start,
    dedup,
    dedup_for,
    replacing,
    replacing_waits,
    claim,
    claim_ahead,
    fencing,
    renew,
    progress,
    logs,
    settle,
    mismatch,
    continuation,
    reap,
    blockers,
    blocker_types,
    propagation,
    hooks,
    hook_races,
    origins,
    when,
    when_retried,
    when_races,
    cycles,
    cycle_races,
    complete,
    cancel,
    retry,
    run_now,
    delete,
    keep,
    prune,
    pause,
    audit,
    audit_unchanged,
    limits,
    limit_release,
    fairness,
    rates,
    weights,
    orders,
    lane_fronts,
    order_spans,
    limit_numbers,
    reading,
    listing,
    filters,
    history,
    stats,
    counters,
    error_groups,
    next_due,
    events,
    transactions,
    wakeups,
    workers,
    explain,
    schedules,
    steps,
    messages,
    suspension,
    races,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One sentence of the contract, and the test of it."""

    topic: str
    sentence: str
    _body: Callable[[Harness], Coroutine[Any, Any, None]]

    def __str__(self) -> str:
        return f"{self.topic}: {self.sentence}"

    def run(self, make_store: StoreFactory, mode: Mode) -> None:
        """Test an empty store. Raises AssertionError if the store does not keep the contract."""
        if mode is Mode.SYNC:
            drive(self._run(make_store, mode))
        else:
            asyncio.run(self._run(make_store, mode))

    async def _run(self, make_store: StoreFactory, mode: Mode) -> None:
        harness = Harness(make_store, mode)
        await harness.open()
        try:
            await self._body(harness)
        finally:
            await harness.close()


def _cases() -> Iterator[Case]:
    for module in TOPICS:
        topic = module.__name__.rpartition(".")[2]
        for name, body in vars(module).items():
            if iscoroutinefunction(body) and body.__module__ == module.__name__ and not name.startswith("_"):
                yield Case(topic, name.replace("_", " "), body)


CASES: tuple[Case, ...] = tuple(_cases())
