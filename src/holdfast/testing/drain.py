"""Run every job that is due, here and now: for tests of an application's jobs."""

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
    """Run due jobs, and those that they bring about, until none is due; answers how each attempt ended, in order.

    With `advance` the store's ManualClock is then moved to the next due time, and so on until nothing is scheduled
    either: retries and delays take no time. Jobs run one after the other unless `concurrency` says otherwise, by the
    client's own handlers, in a real worker. A loop of jobs without end is an error after `limit` attempts.
    """
    clock = _manual(client.store.clock) if advance else None
    drainage = _Drainage(client, tuple(types_to_run(client.jobs, types)), limit)
    worker = Worker(
        client, types=types, concurrency=concurrency, retry=retry, middlewares=middlewares, poll_interval=POLL,
        grace=0, observers=[drainage.receive],
    )  # fmt: skip
    async with asyncio.timeout(seconds(timeout)), worker:
        await drainage.until_idle(worker)
        while clock is not None and (due := await drainage.next_due()) is not None:
            clock.advance(due / SECOND)
            client.store.wakeups.send(ANYTHING)
            await drainage.until_idle(worker, at_least_once=True)
    return drainage.ran


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


class _Drainage:
    """Watches a worker until it has nothing more to do."""

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
        """Wait until nothing is due and the worker runs nothing. The worker tells of all that could change that."""
        if at_least_once:
            self._changed.clear()
            await self._hear_news()
        self._changed.clear()
        while not await self._idle(worker):
            await self._hear_news()
            self._changed.clear()
            if len(self.ran) >= self._limit:
                raise RuntimeError(
                    f"{self._limit} attempts ended and there are still jobs due: raise limit= if need be"
                )

    async def next_due(self) -> int | None:
        """Microseconds until something of these types is due, or the lease of a lost worker runs out."""
        return await self._client.store.perform(NextDue(self._types))

    async def _hear_news(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), 2 * POLL)

    async def _idle(self, worker: Worker) -> bool:
        if worker.busy:  # maybe with a handler whose job somebody took away
            return False
        stats = (await self._client.stats()).types
        mine = [stats[name] for name in self._types if name in stats]
        if any(each.due and not each.paused for each in mine):
            return False
        running = sum(each.counts.get(Status.RUNNING, 0) for each in mine)
        if not running:
            return True
        # What others run is none of our business; it must account for every running job of that one snapshot.
        listed = (await self._client.list_jobs(status="running", type=self._types, limit=1000)).items
        return running == sum(job.worker != worker.id for job in listed)


def _manual(clock: Clock | None) -> ManualClock:
    if not isinstance(clock, ManualClock):
        raise ValueError("advance=True moves a ManualClock: give the store one, MemoryStore(clock=ManualClock())")
    return clock
