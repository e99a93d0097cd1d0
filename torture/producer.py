"""A producer process of a run: starts chains of every kind, and meddles."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from torture.history import History
from torture.settings import Settings

MOST_AT_ONCE = 24


class Producer:
    """Draws operations by its seed and performs them, a few at a time, until its time is up."""

    def __init__(self, settings: Settings, history: History) -> None:
        self.settings = settings
        self.history = history
        self.random = random.Random(settings.seed)
        self.recent: deque[str] = deque(maxlen=40)
        """Chains that were started lately."""
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        from holdfast import Client
        from holdfast.stores.address import open_store
        from torture.jobs import jobs
        from torture.mutants import MUTANTS, changed_store
        from torture.operations import Actor, favouring
        from torture.watched import LossyWakeups, Watch, WatchedStore, opened

        settings = self.settings
        inner = changed_store(open_store(settings.url), settings.mutant)
        lossy = LossyWakeups(inner.wakeups, drop=settings.drop, double=settings.double, seed=settings.seed)
        store = WatchedStore(inner, Watch(self.history, settings.failpoints), lossy)
        await opened(store)
        (Path(settings.folder) / f"{settings.name}.ready").touch()
        actor = Actor(Client(store, jobs), self.history, self.random, settings)
        favoured = MUTANTS[settings.mutant].favour if settings.mutant is not None else ()
        weights = favouring(favoured)
        loop = asyncio.get_running_loop()
        until = loop.time() + settings.seconds
        while loop.time() < until:
            (drawn,) = self.random.choices(list(weights), list(weights.values()))
            await self._begin(drawn(actor))
            await asyncio.sleep(self.random.expovariate(settings.rate))
        if self._running:
            await asyncio.wait(self._running, timeout=30)
        self.history.note("hints", dropped=lossy.dropped, doubled=lossy.doubled)
        self.history.note("left", running=len([task for task in self._running if not task.done()]))
        await actor.close()
        await store.close()

    async def _begin(self, perform: Awaitable[None]) -> None:
        while len(self._running) >= MOST_AT_ONCE:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.ensure_future(perform)
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: Any) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.history.note("broke", error=f"{type(error).__name__}: {error}")


async def main(settings: Settings) -> None:
    """Run a producer to its end."""
    await Producer(settings, History(Path(settings.folder), settings.name)).run()
