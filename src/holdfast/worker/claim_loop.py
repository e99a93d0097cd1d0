"""The main loop of a worker: claims jobs for its free slots, and sleeps while there is nothing to claim."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from holdfast.core.clock import SECOND
from holdfast.core.retry import Retry
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import NextDue
from holdfast.engine.store import Store
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError, StoreReplaced
from holdfast.worker.ahead_size import Room
from holdfast.worker.claims_in_flight import ClaimsInFlight
from holdfast.worker.polling import Polling
from holdfast.worker.reaper import LeaseReaper
from holdfast.worker.slots import Slots
from holdfast.worker.stagger import Stagger

MINIMUM_SLEEP = 0.05


class ClaimLoop:
    """Fills the free slots by claims and reaps expired leases every second.

    Then it sleeps until a wake-up, the next due time, the poll interval or a free slot.
    """

    def __init__(
        self,
        store: Store,
        claims: ClaimsInFlight,
        reaper: LeaseReaper,
        observers: Observers,
        worker_id: str,
        *,
        types: tuple[str, ...],
        polling: Polling,
        recovery: Retry,
        stopping: asyncio.Event,
        stagger: Stagger,
    ) -> None:
        self._store = store
        self._claims = claims
        self._reaper = reaper
        self._observers = observers
        self._worker_id = worker_id
        self._types = types
        self._polling = polling
        self._recovery = recovery
        self._stopping = stopping
        self._stagger = stagger
        self._wake_flag = WakeFlag()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._checking = False
        """True after a delayed wake-up: the loop claims only if a job is still due. Another worker claims first."""
        self.error: StoreReplaced | None = None
        """The error that stopped the loop."""
        self._more = True
        """Whether more jobs may be due than the last claim returned."""
        self._slots_only = False
        """Whether the next claim waits for a free slot: the last one may have ended at a job that must not be claimed
        ahead."""

    def wake(self) -> None:
        """End the sleep: the loop claims again, or stops if the worker is stopping."""
        self._checking = False
        self._wake_flag.set()

    def receive(self, hints: Hints) -> None:
        """Wake the loop if the hints concern one of the worker's types, at once or after the delay of its rank."""
        if hints.anything:
            self.wake()
        elif due := hints.due.intersection(self._types):
            delay = self._stagger.delay(due)
            if not delay or self._loop is None:
                self.wake()
            elif self._checks_later_than(delay):
                with suppress(RuntimeError):  # the event loop is closed
                    self._loop.call_soon_threadsafe(self._check_after, delay)

    def _checks_later_than(self, delay: float) -> bool:
        """Whether no check is scheduled within this many seconds."""
        timer = self._timer
        return timer is None or (self._loop is not None and timer.when() > self._loop.time() + delay)

    def _check_after(self, delay: float) -> None:
        if self._checks_later_than(delay):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(delay, self._check)

    def _check(self) -> None:
        self._timer = None
        self._checking = True
        self._wake_flag.set()

    def slot_freed(self) -> None:
        """Wake the loop only if a claim may find more jobs. A settlement that makes jobs due sends a wake-up."""
        if self._more or not self._store.wakeups.healthy:
            self._wake_flag.set()

    async def run(self, slots: Slots) -> None:
        """Keep these slots full until stopped. If the store fails, try again after a delay.

        If the store's file was replaced, another try cannot succeed: the loop stops and sets `error`.
        """
        failures, self._loop = 0, asyncio.get_running_loop()
        while not self._stopping.is_set():
            try:
                await self._iterate(slots)
                failures = 0
            except StoreReplaced as error:
                log.error("worker %s stops: %s", self._worker_id, error)
                self.error = error
                self._stopping.set()
            except Exception as error:
                if not isinstance(error, HoldfastError):
                    log.exception(
                        "worker %s continues after an error that the store did not translate", self._worker_id
                    )
                failures += 1
                self._observers.emit("store_error", worker=self._worker_id, detail=str(error), cause=error)
                delay = self._recovery.delay(failures)
                await self._receive(slots, within=delay)
                await self._wake_flag.wait(delay)
                # Another claim may have found no more jobs before the answer to this one was lost.
                self._more = self._more or self._claims.unanswered
        await self._receive(slots)

    async def _receive(self, slots: Slots, *, within: float | None = None) -> None:
        """Begin the jobs of the claims in flight, and send no other. If the worker stops, its slots release them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._claims:
                    try:
                        jobs, _, sent, _ = await self._claims.receive()
                    except Exception as error:
                        log.warning("a claim of worker %s failed: %s", self._worker_id, error)
                    else:
                        slots.begin(jobs, sent)

    async def _iterate(self, slots: Slots) -> None:
        """One iteration. The claim comes first, since a wake-up announces due jobs.

        A worker that always finds jobs reaps as well: there may be no idle worker that reaps.
        """
        if self._claims.overlap:
            # Handlers that await nothing end in the next iteration of the event loop. Another claim fills their slots.
            await asyncio.sleep(0)
        room = slots.room(beside=self._claims.slots)
        fills = bool(self._claims) or (self._more and (room.limit if self._slots_only else room.total) > 0)
        if fills:
            await self._fill(slots, room)
        if self._reaper.due:
            self._more = await self._reaper.reap() or self._more
        elif fills:
            return
        elif self._more:
            # Handlers that await nothing end in the next iteration of the event loop. The claim for their slots is
            # then sent before their settlements: it is on the critical path.
            await asyncio.sleep(0)
            room = slots.room()
            if (room.limit if self._slots_only else room.total) <= 0:
                await self._wake_flag.wait(self._polling.interval)
        else:
            woken = await self._sleep(slots)
            self._more = True
            if woken:
                self._observers.emit("woken", worker=self._worker_id)

    async def _fill(self, slots: Slots, room: Room) -> None:
        """Fill free slots with the jobs of one claim."""
        if room.finds_new and not room.limit:
            # No slot is free. Let handlers that have just begun write their steps first: their slots wait for that.
            await asyncio.sleep(0)
        jobs, asked, sent, seconds = await self._claims.claim(room)
        self._stagger.claimed(seconds)
        self._more = len(jobs) >= asked.limit or self._claims.unanswered
        self._slots_only = len(jobs) < asked.total
        slots.begin(jobs, sent, asked.fast)

    async def _sleep(self, slots: Slots) -> bool:
        """Sleep until there may be something to claim. Returns whether a wake-up ended the sleep."""
        poll = self._polling.wait(self._store.wakeups)
        # Let new handlers run first, and let their settlements be sent: callers may wait for the results.
        for _ in range(2):
            await asyncio.sleep(0)
        while True:
            checking, self._checking = self._checking, False
            due = await self._store.perform(NextDue(self._types))
            if checking and due is not None and due <= 0:
                return True
            wait, delay = poll, 0.0
            if due is not None:
                # A job that is due now could not be claimed: its row is locked, or its lease is not reaped yet. Do not
                # retry at once. A job that is due later wakes all workers at the same time: stagger their checks.
                delay = self._stagger.delay(self._types) if due > 0 else 0.0
                wait = min(wait, delay + max(due / SECOND, self._reaper.retry_delay if slots.held else MINIMUM_SLEEP))
            woken = await self._wake_flag.wait(wait)
            if not woken and delay and wait < poll:
                self._checking = True
            if not self._checking or self._stopping.is_set():
                return woken
