"""The harness of a client case: a store, a manual clock, a client of either kind, and workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from holdfast import Chain, Client, Event, Job, Jobs, SyncClient, Worker
from holdfast.engine.store import Store
from holdfast.engine.wakeups import ANYTHING
from holdfast.testing import ManualClock, drain
from tests.conformance.client.async_adapters import Body, ClientAdapter, Mode, TaskThreads, declare

TIMEOUT = 60.0


class ClientHarness:
    """A client on a store of its own."""

    def __init__(self, store: Store, mode: Mode, jobs: Jobs | None = None) -> None:
        self.store = store
        self.mode = mode
        self.clock = ManualClock()
        store.clock = self.clock
        self.clock.subscribe(lambda: store.wakeups.send(ANYTHING))
        self.jobs = Jobs() if jobs is None else jobs
        self.threads = TaskThreads()
        self.reported: list[Event] = []
        self.workers_client = Client(store, self.jobs)
        if mode is Mode.ASYNC:
            self.client = ClientAdapter(Client(store, self.jobs, observers=[self.reported.append]), self.threads)
        else:
            self.client = ClientAdapter(SyncClient(store, self.jobs, observers=[self.reported.append]), self.threads)

    def job(self, body: Body, **options: Any) -> Any:
        """Declare a job type with this body, async or plain by the mode."""
        return declare(self.jobs, self.mode, body, **options)

    async def drain(self, *, advance: bool = False, concurrency: int = 5, **options: Any) -> list[Event]:
        """Run the due jobs."""
        return await drain(self.workers_client, advance=advance, concurrency=concurrency, **options)

    @asynccontextmanager
    async def worker(self, **options: Any) -> AsyncGenerator[Worker]:
        """A worker in the background."""
        defaults: dict[str, Any] = {"poll_interval": 0.1, "grace": 1}
        async with Worker(self.workers_client, **(defaults | options)) as worker:
            yield worker

    async def now(self, subject: Chain[Any] | str) -> Job:
        """The chain's current job."""
        chain = await self.client.get(subject)
        assert chain is not None, f"there is no chain {subject}"
        job: Job = chain.job
        return job

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.clock() / 1e6, UTC)


async def in_time(awaitable: Any) -> Any:
    """Await with a timeout."""
    async with asyncio.timeout(TIMEOUT):
        return await awaitable


async def value(number: int) -> int:
    """A handler without an attempt."""
    return number
