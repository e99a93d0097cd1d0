"""A producer process of a run: starts chains of every kind, and cancels, completes, retries and deletes them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from torture.history import History
from torture.settings import Settings

MOST_AT_ONCE = 24


class Producer:
    """Performs random operations, a limited number at a time, for a given number of seconds."""

    def __init__(self, settings: Settings, history: History) -> None:
        self.settings = settings
        self.history = history
        self.random = random.Random(settings.seed)
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        from holdfast import Client
        from holdfast.stores.address import open_store
        from torture.actor import Actor
        from torture.failpoints import Watch
        from torture.jobs import jobs
        from torture.lossy_wakeups import LossyWakeups
        from torture.mutant_loader import MUTANTS, changed_store
        from torture.operations import OPERATIONS, favouring
        from torture.sampling import sampling
        from torture.watched_store import WatchedStore, opened

        settings = self.settings
        inner = changed_store(open_store(settings.url), settings.mutant)
        lossy = LossyWakeups(inner.wakeups, drop=0.0, double=settings.double, seed=settings.seed)
        silent = LossyWakeups(inner.wakeups, drop=1.0, double=0.0, seed=settings.seed)
        watch = Watch(self.history, settings.failpoints, Path(settings.folder) / f"{settings.name}.met")
        store = WatchedStore(inner, watch, lossy)
        await opened(store)
        (Path(settings.folder) / f"{settings.name}.ready").touch()
        actor = Actor(Client(store, jobs), self.history, self.random, settings)
        # A client on the same connections without wake-ups: its waits rely on polling.
        actor.polling_client = Client(WatchedStore(inner, watch, silent), jobs)
        mutant = MUTANTS[settings.mutant] if settings.mutant is not None else None
        weights = favouring(mutant.favour, alone=mutant.rate is not None) if mutant is not None else OPERATIONS
        loop = asyncio.get_running_loop()
        until = loop.time() + settings.seconds
        async with sampling(self.history, watch, lossy, silent):
            while loop.time() < until:
                (drawn,) = self.random.choices(list(weights), list(weights.values()))
                await self._begin(drawn(actor))
                await asyncio.sleep(self.random.expovariate(settings.rate))
            if self._running:
                await asyncio.wait(self._running, timeout=30)
        self.history.note("left", running=len([task for task in self._running if not task.done()]))
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
    """Run a producer until its time is over."""
    await Producer(settings, History(Path(settings.folder), settings.name)).run()
