"""Holdfast itself, with every promise on: fenced, leased, results kept, synced to disk."""

from __future__ import annotations

import asyncio
import time

from holdfast import Client, Event, Jobs, Worker

jobs = Jobs()


@jobs.job
async def add(a: int, b: int) -> int:
    return a + b


class Counter:
    """Knows when the last of so many jobs is settled in the store."""

    def __init__(self, count: int) -> None:
        self._left = count
        self.done = asyncio.Event()

    def observe(self, event: Event) -> None:
        if event.kind == "completed":
            self._left -= 1
            if not self._left:
                self.done.set()


async def starts_one_by_one(url: str, count: int) -> float:
    async with Client(url, jobs) as client:
        begun = time.perf_counter()
        for number in range(count):
            await client.start(add.bind(number, 2))
        return count / (time.perf_counter() - begun)


async def starts_together(url: str, count: int) -> float:
    async with Client(url, jobs) as client:
        begun = time.perf_counter()
        await client.start_many([add.bind(number, 2) for number in range(count)])
        return count / (time.perf_counter() - begun)


async def drain(url: str, count: int, concurrency: int) -> float:
    async with Client(url, jobs) as client:
        await client.start_many([add.bind(number, 2) for number in range(count)])
        counter = Counter(count)
        begun = time.perf_counter()
        async with Worker(client, concurrency=concurrency, observers=[counter]):
            await counter.done.wait()
            return count / (time.perf_counter() - begun)


async def round_trip(url: str, count: int) -> float:
    """Starts and waits a second, one at a time, in a worker of the same process."""
    async with Client(url, jobs) as client, Worker(client):
        begun = time.perf_counter()
        for number in range(count):
            await client.run(add.bind(number, 2), timeout=30)
        return count / (time.perf_counter() - begun)
