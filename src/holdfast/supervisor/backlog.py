"""How many jobs are due, read only when it may have changed, so that an idle fleet sends few statements."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

from holdfast.core.clock import SECOND, to_datetime
from holdfast.core.record import Status
from holdfast.engine.observers import Observers
from holdfast.engine.operations import GetStats, NextDue, TypeStats
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints
from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.merging import stats as merged_stats

LONGEST_REST = 60.0
READ_TIMEOUT = 10.0
"""Seconds that a store has to answer before the backlog counts as unknown."""
SLOW = 0.05
PAUSE_FACTOR = 20
"""After a read that takes longer than `SLOW`, the next read waits for this multiple of its duration."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of each type's jobs at some time."""

    types: dict[str, TypeStats] = field(default_factory=dict[str, TypeStats])

    def due(self, types: Iterable[str]) -> int:
        """Jobs that could run now: pending, due, and of a type that is not paused."""
        return sum(stats.due for stats in self._of(types) if not stats.paused)

    def running(self, types: Iterable[str]) -> int:
        """Jobs that workers run, on any machine."""
        return sum(stats.counts.get(Status.RUNNING, 0) for stats in self._of(types))

    def oldest_due(self, types: Iterable[str]) -> float | None:
        """For how many seconds the oldest of them has been due."""
        moments = [stats.oldest_due for stats in self._of(types) if stats.oldest_due is not None and not stats.paused]
        if not moments:
            return None
        return max(0.0, (datetime.now(UTC) - to_datetime(min(moments))).total_seconds())

    def _of(self, types: Iterable[str]) -> list[TypeStats]:
        return [self.types[name] for name in types if name in self.types]


class Backlog:
    """Reads the backlog of a store for these types. Observers receive one event when it can no longer be read.

    It opens and closes the store, unless the store is `shared` with a client.
    """

    def __init__(self, store: Store, types: Iterable[str], *, observers: Observers, shared: bool = False) -> None:
        self.types = frozenset(types)
        self.last: Reading | None = None
        """The last reading; None while the store cannot be read."""
        self.readings = 0
        self.store = store
        self._observers = observers
        self._shared = shared
        self._subscribed = False
        self._unsubscribe: Callable[[], None] | None = None
        self._changed = True
        self._rest_until = 0.0
        self._not_before = 0.0

    async def read(self) -> Reading | None:
        """The current backlog; None if the store does not answer.

        While nothing is due and no wake-up arrives, the last reading is returned.
        """
        if (
            self.last is not None
            and not self._changed
            and monotonic() < self._rest_until
            and self.store.wakeups.healthy
        ):
            return self.last
        if self.last is not None and monotonic() < self._not_before:
            return self.last
        # Before the read: a change after this point is in the answer, or causes a new wake-up.
        self._changed = False
        known, asked = self.last is not None, monotonic()
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                self.last = await self._read()
        except Exception as error:  # after any error the backlog is unknown
            self.last = None
            self._changed = True
            if known or not self.readings:
                why = str(error) or "no answer"
                effect = "" if self._shared else ", so the number of processes does not change"
                detail = f"the backlog cannot be read{effect}: {why}"
                self._observers.emit("store_error", detail=detail, cause=error)
        self.readings += 1
        took = monotonic() - asked
        self._not_before = asked + took * PAUSE_FACTOR if took > SLOW else 0.0
        return self.last

    def follow(self, types: Iterable[str]) -> None:
        """Read for other types from now on."""
        self.types = frozenset(types)
        self._changed = True

    async def close(self) -> None:
        """Unsubscribe from wake-ups."""
        if self._unsubscribe is not None:
            self._unsubscribe()
        if not self._shared:
            await self.store.close()

    async def _read(self) -> Reading:
        if not self._subscribed:
            if not self._shared:
                await self.store.open()
            self._subscribed = True
            self._unsubscribe = self.store.wakeups.subscribe(self._receive)
        reading = Reading({stats.type: stats for stats in await _stats(self.store)})
        if reading.due(self.types):
            self._rest_until = 0.0
        else:
            next_due = await self.store.perform(NextDue(tuple(sorted(self.types))))
            rest = LONGEST_REST if next_due is None else min(next_due / SECOND, LONGEST_REST)
            self._rest_until = monotonic() + rest
        return reading

    def _receive(self, hints: Hints) -> None:
        if hints.anything or not hints.due.isdisjoint(self.types):
            self._changed = True


async def _stats(store: Store) -> list[TypeStats]:
    """The counts of all shards that answer: a lost shard must not keep the others from being served."""
    if not store.sharded:
        return await store.perform(GetStats())
    found = await asyncio.gather(*(shard.perform(GetStats()) for shard in store.shards), return_exceptions=True)
    answers = [each for each in found if not isinstance(each, BaseException)]
    for each in found:
        if isinstance(each, BaseException) and (not isinstance(each, StoreUnavailable) or not answers):
            raise each
    return merged_stats(answers)
