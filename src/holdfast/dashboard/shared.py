"""Numbers that all viewers share: each is read once at a time, however many pages ask for it.

A value is used again for a time that is proportional to the duration of its reading, and while a slow reading of the
next one continues. So quick stores are always read again, and pages do not add load to a slow store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from typing import Generic, TypeVar

from holdfast.client.client import Client
from holdfast.client.client_calls import Stats
from holdfast.core.counter_report import Counters
from holdfast.dashboard.charts import Chart, charts
from holdfast.engine.operations import Finding, LimitReport

T = TypeVar("T")

FACTOR = 20
"""A value is used again for this multiple of the duration of its reading."""
QUICK = 0.02
"""Seconds: a value that was read in this time is not used again."""
REFRESH_TIMEOUT = 0.05
"""Seconds that a page waits for a new value if there is an old one."""
MOST_CHARTS = 100
OLD_AFTER = 2.0
"""Seconds after which a value is shown as approximate."""


class Cached(Generic[T]):
    """The answer of one read."""

    def __init__(self, read: Callable[[], Awaitable[T]], factor: int = FACTOR) -> None:
        self._read = read
        self._factor = factor
        self._value: T | None = None
        self._read_at = self._until = 0.0
        self._task: asyncio.Task[T] | None = None

    async def get(self) -> T:
        """The value, read again unless it is fresh. Callers at the same time share one read.

        The read continues if a caller gives up, so that the next caller finds its answer. If it takes long, the caller
        gets the old value.
        """
        if self._value is not None and monotonic() < self._until:
            return self._value
        if self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            self._task = asyncio.create_task(self._refresh())
            self._task.add_done_callback(_retrieve)
        if self._value is None:
            return await asyncio.shield(self._task)
        done, _ = await asyncio.wait({self._task}, timeout=REFRESH_TIMEOUT)
        return self._task.result() if done else self._value

    @property
    def is_old(self) -> bool:
        """Whether the value may differ much from that of the store."""
        return monotonic() - self._read_at > OLD_AFTER

    def expire(self) -> None:
        """Let the next call read. A read that runs may have begun before a change, so it does not count."""
        self._value = None
        self._task = None

    async def _refresh(self) -> T:
        begun = monotonic()
        value = await self._read()
        if self._task is asyncio.current_task():
            now = monotonic()
            took = now - begun
            self._value = value if took > QUICK else None
            self._read_at, self._until = begun, now + took * self._factor
        return value


class Shared:
    """The numbers of a store, of all types. A viewer filters them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.stats: Cached[Stats] = Cached(client.stats)
        self.hour: Cached[Counters] = Cached(client.counters)
        # Its charts have ten minutes per point, so that they may be some seconds older than those of the hour.
        self.day: Cached[Counters] = Cached(self._read_day, factor=100)
        self.limits: Cached[list[LimitReport]] = Cached(client.limits)
        self.findings: Cached[Sequence[Finding]] = Cached(client.examine, factor=100)
        self._charts: dict[tuple[bool, frozenset[str] | None], tuple[Counters, list[Chart]]] = {}

    def charts(self, counters: Counters, types: frozenset[str] | None, *, day: bool) -> list[Chart]:
        """The charts of these types, kept with the counters: adding up a day takes longer than reading it."""
        kept = self._charts.get((day, types))
        if kept is None or kept[0] is not counters:
            if len(self._charts) >= MOST_CHARTS:
                self._charts.clear()
            seen = {name: each for name, each in counters.types.items() if types is None or name in types}
            kept = counters, charts(replace(counters, types=seen), day=day)
            self._charts[day, types] = kept
        return kept[1]

    async def _read_day(self) -> Counters:
        # By the clock of the store: that of this process may differ.
        now = (await self.hour.get()).until
        return await self._client.counters(now - timedelta(hours=24))

    def expire(self) -> None:
        """A viewer changed something: the next page shows it."""
        for cached in (self.stats, self.hour, self.day, self.findings):
            cached.expire()


def _retrieve(task: asyncio.Task[T]) -> None:
    """Read the error of a task that no caller waits for any more: asyncio would log it."""
    if not task.cancelled():
        task.exception()
