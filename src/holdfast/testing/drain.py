"""Runs all due jobs within a test of an application."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from holdfast.client.client import Client
from holdfast.client.references import Names
from holdfast.client.sync_client import SyncClient
from holdfast.core.clock import SECOND, Clock
from holdfast.core.record import Status
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.engine.events import Event
from holdfast.engine.operations import NextDue
from holdfast.engine.wakeups import ANYTHING
from holdfast.testing.clock import ManualClock
from holdfast.worker import Middleware, Worker
from holdfast.worker.run_options import types_to_run

ENDS = frozenset(
    {"completed", "continued", "retrying", "rescheduled", "released", "mismatched", "failed", "cancelled", "lost"}
)
POLL = 0.05


async def drain(
    client: Client,
    *,
    advance: bool = False,
    types: Names | None = None,
    concurrency: int = 1,
    retry: Retry | None = None,
    middlewares: Iterable[Middleware] = (),
    limit: int = 1000,
    timeout: Seconds = 60,
) -> list[Event]:
    """Run due jobs, and the jobs that they start, until none is due. Returns the ends of the attempts, in order.

    With `advance`, the ManualClock of the store is then moved to the next due time, until no job is scheduled. So
    retries and delays take no real time. A real worker runs the handlers of the client, one job after the other unless
    `concurrency` is greater. After `limit` attempts an endless loop of jobs raises RuntimeError.
    """
    clock = _manual(client.store.clock) if advance else None
    watch = _IdleWatch(client, tuple(types_to_run(client.jobs, types)), limit)
    worker = Worker(
        client, types=types, concurrency=concurrency, retry=retry, middlewares=middlewares, poll_interval=POLL,
        grace=0, observers=[watch.receive],
    )  # fmt: skip
    async with asyncio.timeout(seconds(timeout)), worker:
        await watch.until_idle(worker)
        while clock is not None and (due := await watch.next_due()) is not None:
            clock.advance(due / SECOND)
            client.store.wakeups.send(ANYTHING)
            await watch.until_idle(worker, at_least_once=True)
    return watch.ran


def drain_sync(
    client: SyncClient,
    *,
    advance: bool = False,
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
    return asyncio.run(
        drain(
            same, advance=advance, types=types, concurrency=concurrency, retry=retry, middlewares=middlewares,
            limit=limit, timeout=timeout,
        )
    )  # fmt: skip


class _IdleWatch:
    """Waits until a worker has nothing more to do."""

    def __init__(self, client: Client, types: tuple[str, ...], limit: int) -> None:
        self.ran: list[Event] = []
        self._client = client
        self._types = types
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def receive(self, event: Event) -> None:
        if event.kind in ENDS:
            self.ran.append(event)
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
                    f"{self._limit} attempts ended and there are still jobs due: raise limit= if need be"
                )

    async def next_due(self) -> int | None:
        """Microseconds until a job of these types is due, or the lease of a lost worker expires."""
        return await self._client.store.perform(NextDue(self._types))

    async def _wait_for_event(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), 2 * POLL)

    async def _idle(self, worker: Worker) -> bool:
        if worker.busy:  # also with a handler whose job was taken by another worker
            return False
        stats = (await self._client.stats()).types
        mine = [stats[name] for name in self._types if name in stats]
        if any(each.due and not each.paused for each in mine):
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
