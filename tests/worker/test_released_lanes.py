"""A worker that releases a lane wakes the workers of all types that may wait for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from holdfast import Bound, Client, Hints, Jobs, Limit, Order, Worker
from tests.worker.harness import in_time


def announced(client: Client, type: str) -> asyncio.Event:
    """Set by the next hint for this type."""
    found, loop = asyncio.Event(), asyncio.get_running_loop()

    def receive(hints: Hints) -> None:
        if type in hints.due:
            loop.call_soon_threadsafe(found.set)

    client.store.wakeups.subscribe(receive)
    return found


async def test_a_job_that_ends_announces_the_types_that_share_its_limit(tmp_path: Path) -> None:
    """The worker of its own type may have no slot for a claim, or may stop."""
    jobs, gpu = Jobs(), Limit("gpu", 1)

    @jobs.job(limits=[gpu])
    async def train() -> None: ...

    @jobs.job(limits=[gpu])
    async def render() -> None: ...

    async with Client(f"sqlite:///{tmp_path}/jobs.db", jobs) as client:
        render_announced = announced(client, "render")
        async with Worker(client, types=[train]):
            await client.start(train.bind())
            await in_time(render_announced.wait())


async def test_the_end_of_a_chain_that_spans_an_order_announces_the_types_of_the_order(tmp_path: Path) -> None:
    jobs, account = Jobs(), Order("account", span="chain")
    begun, go_on = asyncio.Event(), asyncio.Event()

    @jobs.job
    async def report() -> int:
        begun.set()
        await go_on.wait()
        return 1

    @jobs.job(limits=[account])
    async def book() -> Bound[int]:
        return report.bind()

    @jobs.job(limits=[account])
    async def close() -> None: ...

    async with Client(f"sqlite:///{tmp_path}/jobs.db", jobs) as client, Worker(client, types=[book, report]):
        await client.start(book.bind())
        await in_time(begun.wait())
        close_announced = announced(client, "close")
        go_on.set()
        await in_time(close_announced.wait())
