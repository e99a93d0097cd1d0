"""Runs all due jobs within a test of an application."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from holdfast.client.client import Client
from holdfast.client.declared_schedules import declare
from holdfast.client.references import Names
from holdfast.client.sync_client import SyncClient
from holdfast.core.clock import SECOND, Clock, Micros, system_clock, to_micros
from holdfast.core.record import Status
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.core.steps import NEVER
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.operations import DueSchedules, FoundSchedules, NextDue, TypeStats
from holdfast.engine.wakeups import ANYTHING
from holdfast.testing.clock import ManualClock
from holdfast.worker import Middleware, Worker
from holdfast.worker.run_options import types_to_run
from holdfast.worker.threads import Threads

ENDS = frozenset(
    {
        "completed",
        "continued",
        "retrying",
        "rescheduled",
        "suspended",
        "released",
        "mismatched",
        "failed",
        "cancelled",
        "lost",
    }
)
POLL = 0.05


async def drain(
    client: Client,
    *,
    advance: bool = False,
    until: datetime | None = None,
    types: Names | None = None,
    concurrency: int = 1,
    retry: Retry | None = None,
    middlewares: Iterable[Middleware] = (),
    limit: int = 1000,
    timeout: Seconds = 60,
    threads: Threads | None = None,
) -> list[Event]:
    """Run due jobs, and the jobs that they start, until none is due. Returns the ends of the attempts, in order.

    Due ticks of schedules start their chains. With `advance`, the ManualClock of the store is then moved to the next
    due time, until no job is scheduled, and schedules are ignored: they never end. So retries and delays take no real
    time. With `until`, the clock is moved from one due time or tick to the next, and at last to this time. A real
    worker runs the handlers of the client, one job after the other unless `concurrency` is greater. After `limit`
    attempts an endless loop of jobs raises RuntimeError.
    """
    if advance and until is not None:
        raise ValueError("give either advance=True or until, not both")
    clock = _manual(client.store.clock) if advance or until is not None else None
    end = None if until is None else to_micros(until)
    if clock is not None and end is not None and end < clock():
        raise ValueError("until is earlier than the time of the manual clock")
    watch = _IdleWatch(client, tuple(types_to_run(client.jobs, types)), limit, clock, ticks=not advance)
    worker = Worker(
        client, types=types, concurrency=concurrency, retry=retry, middlewares=middlewares, poll_interval=POLL,
        grace=timeout, observers=[watch.receive], ticks=not advance, threads=threads,
    )  # fmt: skip
    if not advance:
        # The worker declares the schedules too, but it may be stopped before that.
        await procedures.run(client.store.perform, declare(client.jobs, worker=worker.id))
    async with asyncio.timeout(seconds(timeout)), worker:
        try:
            await watch.until_idle(worker)
            if clock is not None:
                await _advance(client, worker, watch, clock, end)
            worker.stop()
            await watch.until_ended(worker)
        finally:
            worker.stop()
            worker.stop()  # ends the grace period: handlers that still run are aborted
    return watch.ran


async def _advance(client: Client, worker: Worker, watch: _IdleWatch, clock: ManualClock, end: Micros | None) -> None:
    """Move the clock from one due time to the next, and let the worker run what is due; at last to `end`."""
    while (due := await watch.next_due()) is not None:
        if end is not None and clock() + due > end:
            break
        clock.move_to(clock() + due)
        client.store.wakeups.send(ANYTHING)
        await watch.until_idle(worker, at_least_once=True)
    if end is not None:
        clock.move_to(end)


def drain_sync(
    client: SyncClient,
    *,
    advance: bool = False,
    until: datetime | None = None,
    types: Names | None = None,
    concurrency: int = 1,
    retry: Retry | None = None,
    middlewares: Iterable[Middleware] = (),
    limit: int = 1000,
    timeout: Seconds = 60,
) -> list[Event]:
    """The same for blocking tests."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise TypeError("an event loop is running here: await drain(...) with a Client instead")
    same = Client(client.store, client.jobs, observers=client.observers.given)

    async def run() -> list[Event]:
        try:
            return await drain(
                same, advance=advance, until=until, types=types, concurrency=concurrency, retry=retry,
                middlewares=middlewares, limit=limit, timeout=timeout,
            )  # fmt: skip
        finally:
            await same.close()
            # The connections of this event loop end with it.
            await client.store.close()

    try:
        return asyncio.run(run())
    finally:
        client.store.open_sync()


class _IdleWatch:
    """Waits until a worker has nothing more to do."""

    def __init__(
        self, client: Client, types: tuple[str, ...], limit: int, clock: ManualClock | None, *, ticks: bool
    ) -> None:
        self.ran: list[Event] = []
        self._started = 0
        self._ticks = ticks
        self._clock = clock
        self._client = client
        self._types = types
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def receive(self, event: Event) -> None:
        if event.kind in ENDS:
            self.ran.append(event)
        elif event.kind == "started":
            self._started += 1
        self._loop.call_soon_threadsafe(self._changed.set)

    async def until_idle(self, worker: Worker, *, at_least_once: bool = False) -> None:
        """Wait until no job is due and the worker runs none. An event of the worker triggers the next check."""
        if at_least_once:
            self._changed.clear()
            await self._wait_for_event()
        self._changed.clear()
        while not await self._idle(worker):
            await self._wait_for_event()
            self._changed.clear()
            if len(self.ran) >= self._limit:
                raise RuntimeError(
                    f"{self._limit} attempts ended and there are still jobs due: raise limit= if the test needs more"
                )

    async def until_ended(self, worker: Worker) -> None:
        """Wait for the handlers of jobs that became due and were claimed after the last check, before the stop."""
        while worker.busy > len(self._waits()):
            await self._wait_for_event()
            self._changed.clear()

    async def next_due(self) -> int | None:
        """Microseconds until a job of these types or a tick is due, or the lease of a lost worker expires.

        A job that waits for a message without a timeout is never due.
        """
        due = await self._client.store.perform(NextDue(self._types))
        now = (self._client.store.clock or system_clock)()
        moments = [due if due is None or now + due < NEVER - SECOND else None]
        moments += [max(0, until - now) for until in self._waits()]
        if self._ticks:
            moments.append((await self._due_schedules()).wait)
        return min((moment for moment in moments if moment is not None), default=None)

    def _waits(self) -> list[Micros]:
        return [] if self._clock is None else self._clock.waits

    async def _due_schedules(self) -> FoundSchedules:
        types = tuple(job_type.name for job_type in self._client.jobs)
        return await self._client.store.perform(DueSchedules(types, 1))

    async def _wait_for_event(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), 2 * POLL)

    async def _stats(self) -> list[TypeStats]:
        stats = (await self._client.stats()).types
        return [stats[name] for name in self._types if name in stats]

    async def _idle(self, worker: Worker) -> bool:
        if self._ticks and (await self._due_schedules()).schedules:
            return False
        # A handler that waits in place for the manual clock continues when the clock is moved.
        waits = self._waits()
        if worker.busy > len(waits):  # also with a handler whose job was taken by another worker
            return False
        if waits:
            # A wait that has ended meanwhile is no longer listed: its handler runs.
            return await self.next_due() != 0 and self._waits() == waits
        started = self._started
        mine = await self._stats()
        # A due job that waits for a lane is not claimed now: `NextDue` leaves it out. If the counts are the same
        # afterwards and no attempt has started, the job was not claimed between the two reads.
        if any(each.due and not each.paused for each in mine) and (
            await self.next_due() == 0 or await self._stats() != mine or self._started != started
        ):
            return False
        running = sum(each.counts.get(Status.RUNNING, 0) for each in mine)
        if not running:
            return True
        # Jobs that other workers run do not matter. They must account for all running jobs of the same snapshot.
        listed = (await self._client.list_jobs(status="running", type=self._types, limit=1000)).items
        return running == sum(job.worker != worker.id for job in listed)


def _manual(clock: Clock | None) -> ManualClock:
    if not isinstance(clock, ManualClock):
        raise ValueError("advance=True moves a ManualClock: give the store one, MemoryStore(clock=ManualClock())")
    return clock
