"""The list of all cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from inspect import iscoroutinefunction
from types import ModuleType
from typing import Any

from holdfast.testing.conformance import (
    blockers,
    cancel,
    claim,
    complete,
    continuation,
    cycles,
    dedup,
    dedup_for,
    delete,
    events,
    fencing,
    history,
    keep,
    listing,
    mismatch,
    next_due,
    pause,
    progress,
    propagation,
    prune,
    races,
    reading,
    reap,
    renew,
    retry,
    run_now,
    settle,
    start,
    stats,
    transactions,
    wakeups,
)
from holdfast.testing.conformance.barrier import drive
from holdfast.testing.conformance.harness import Harness, Mode, StoreFactory

TOPICS: tuple[ModuleType, ...] = (
    start,
    dedup,
    dedup_for,
    claim,
    fencing,
    renew,
    progress,
    settle,
    mismatch,
    continuation,
    reap,
    blockers,
    propagation,
    cycles,
    complete,
    cancel,
    retry,
    run_now,
    delete,
    keep,
    prune,
    pause,
    reading,
    listing,
    history,
    stats,
    next_due,
    events,
    transactions,
    wakeups,
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
