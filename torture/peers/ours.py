"""Holdfast: on PostgreSQL the mark is written in the completion transaction, on Redis by a separate command."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from holdfast import Attempt, Client, HoldfastError, Jobs, Retry, Worker
from torture.peers.effects import AFTER, BEFORE, MARKS, mark, mark_redis

jobs = Jobs()
RETRY = Retry(initial=1, multiplier=1, jitter=0, max_attempts=50)


class Where:
    """The store's address for marks outside a transaction, and whether marks are part of the completion transaction."""

    url = ""
    inside = True


@jobs.job(retry=RETRY)
async def plod(attempt: Attempt, number: int) -> None:
    if not Where.inside:
        await mark(Where.url, number)
        return None
    await asyncio.sleep(BEFORE)
    async with attempt.complete() as done:
        if done.tx is None:  # pyright: ignore[reportUnnecessaryComparison] - None on Redis
            await mark_redis(Where.url, number)
        else:
            await done.tx.execute(f"insert into {MARKS} (number) values (%s)", (number,))  # noqa: S608 - our own table
        await asyncio.sleep(AFTER)
        return done.output(None)


async def setup(url: str) -> None:
    async with Client(url, jobs, migrate=True):
        pass


async def enqueue(url: str, numbers: Iterable[int], pause: float) -> list[int]:
    accepted: list[int] = []
    async with Client(url, jobs) as client:
        for number in numbers:
            try:
                await client.start(plod.bind(number))
                accepted.append(number)
            except HoldfastError:
                pass
            await asyncio.sleep(pause)
    return accepted


async def work(url: str) -> None:
    Where.url = url
    async with Client(url, jobs) as client:
        await Worker(client, concurrency=8, lease=5, poll_interval=1).run()


async def unfinished(url: str) -> int:
    async with Client(url, jobs) as client:
        counts = (await client.stats()).counts
        return sum(count for status, count in counts.items() if str(status) in ("pending", "running", "blocked"))
