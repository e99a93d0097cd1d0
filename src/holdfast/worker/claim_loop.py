"""Keeps a worker's slots full: claims while there is room and work, and sleeps until there is."""

from __future__ import annotations

import asyncio
import os

from holdfast.core.clock import SECOND
from holdfast.core.retry import Retry
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import NextDue
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Alarm, Hints
from holdfast.errors import HoldfastError, StoreReplaced
from holdfast.worker.claimer import Claimer
from holdfast.worker.reaper import Reaper
from holdfast.worker.slots import Slots

SHORTEST_NAP = 0.05
AT_ONCE = 100
"""Jobs that one claim may ask for, however few slots that leaves for the next."""


class Feeder:
    """The loop of a worker: every second, take back jobs whose workers stopped renewing; fill the free slots in one
    claim; then sleep until a wake-up, the next due time, the poll interval or a free slot.
    """

    def __init__(
        self,
        store: Store,
        claimer: Claimer,
        reaper: Reaper,
        observers: Observers,
        worker_id: str,
        *,
        types: tuple[str, ...],
        poll_interval: float,
        poll_without_wakeups: float,
        recovery: Retry,
        stopping: asyncio.Event,
    ) -> None:
        self._store = store
        self._claimer = claimer
        self._reaper = reaper
        self._observers = observers
        self._worker_id = worker_id
        self._types = types
        self._poll_interval = poll_interval
        self._poll_without_wakeups = poll_without_wakeups
        self._recovery = recovery
        self._stopping = stopping
        self._alarm = Alarm()
        self.broken: StoreReplaced | None = None
        """Why it stopped by itself."""
        self._more = True
        """There may be more due than the slots took."""

    def wake(self) -> None:
        """End its sleep: it looks for work, and whether it should stop."""
        self._alarm.ring()

    def receive(self, hints: Hints) -> None:
        """A wake-up that may concern our types."""
        if hints.anything or not hints.due.isdisjoint(self._types):
            self._alarm.ring()

    def room(self) -> None:
        """There is room. That is news only while more is due; what an outcome made due, its wake-up tells."""
        if self._more or not self._store.wakeups.healthy:
            self._alarm.ring()

    async def run(self, slots: Slots) -> None:
        """Keep these slots full until stopped. During an outage of the store it tries again.

        It stops, and leaves the error in `broken`, if the store's file was replaced: another try would not help.
        """
        failures = 0
        while not self._stopping.is_set():
            try:
                await self._turn(slots)
                failures = 0
            except StoreReplaced as error:
                log.error("worker %s stops: %s", self._worker_id, error)
                self.broken = error
                self._stopping.set()
            except Exception as error:
                if not isinstance(error, HoldfastError):
                    log.exception(
                        "worker %s met an error that its store should have named, and goes on", self._worker_id
                    )
                failures += 1
                self._observers.emit("store_error", worker=self._worker_id, detail=str(error), cause=error)
                await self._alarm.wait(self._recovery.delay(failures))

    async def _turn(self, slots: Slots) -> None:
        """One turn of the loop. Whoever rang wants a claim, so that comes first.

        A worker that always has work reaps too: perhaps nobody else is idle either.
        """
        fills = self._more and slots.free > 0
        if fills:
            await self._fill(slots)
        if self._reaper.due:
            self._more = await self._reaper.reap() or self._more
        elif fills:
            return
        elif self._more:
            # Handlers that wait for nothing end in the loop's next round. The claim for their slots then goes out
            # before their outcomes do: more depends on it.
            await asyncio.sleep(0)
            if slots.free <= 0:
                await self._alarm.wait(self._poll_interval)
        else:
            rung = await self._sleep(slots)
            self._more = True
            if rung:
                self._observers.emit("woken", worker=self._worker_id)

    async def _fill(self, slots: Slots) -> None:
        """Fill the free slots in one claim. Where there are many, half: the store hands out the rest as these begin."""
        wanted = min(slots.free, max(AT_ONCE, slots.concurrency // 2))
        jobs, sent = await self._claimer.claim(wanted)
        self._more = len(jobs) >= wanted
        slots.begin(jobs, sent)

    async def _sleep(self, slots: Slots) -> bool:
        """Sleep until there may be something to do; tells whether somebody rang."""
        poll = self._poll_interval * (0.95 + 0.1 * os.urandom(1)[0] / 255)
        if not self._store.wakeups.healthy:
            poll = min(poll, self._poll_without_wakeups)
        # Handlers that have just begun, and their outcomes, go before the question: somebody may be waiting for them.
        for _ in range(2):
            await asyncio.sleep(0)
        due = await self._store.perform(NextDue(self._types))
        if due is not None:
            # Due now and yet not ours to claim: locked, or a lease of our own. Not again at once.
            poll = min(poll, max(due / SECOND, self._reaper.nap if slots.held else SHORTEST_NAP))
        return await self._alarm.wait(poll)
