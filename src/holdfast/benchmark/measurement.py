"""Measure a store: starts, drains, pick-up latency of an idle worker, and round trip."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.client.client import Client
from holdfast.engine.events import Event
from holdfast.registry.jobs import Jobs
from holdfast.worker import Worker

CONCURRENCY = 10
MANY = 200
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Latency:
    """The median and the 95th percentile, in seconds."""

    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The results, in jobs per second and in seconds. Client and worker share one process."""

    store: str
    jobs: int
    start: float
    """One at a time, each with its own commit."""
    bulk_start: float
    drain: float
    """By a worker with concurrency 10, until the last job is settled."""
    wide_drain: float
    """Likewise with concurrency 200."""
    pick_up: Latency
    """From just before the start until the handler begins, in an idle worker."""
    round_trip: Latency
    """From the start until the caller has the output."""


async def bench(address: str, *, jobs: int = 2000, emit: Callable[[str], None] = lambda text: None) -> Benchmark:
    """Measure an empty store. Missing tables are created; nothing is removed afterwards.

    `jobs` is the number of jobs for the bulk start and the drain. `emit` receives the name of each measurement.
    """
    runs = _Runs()
    async with Client(address, runs.jobs, migrate=True) as client:
        emit("starts, one at a time")
        start = await runs.start(client, max(1, jobs // 10))
        emit("bulk start")
        bulk = await runs.start_many(client, jobs)
        emit(f"drain, concurrency {CONCURRENCY}")
        drain = await runs.drain(client, max(1, jobs // 10) + jobs, CONCURRENCY)
        emit(f"drain, concurrency {MANY}")
        await runs.start_many(client, jobs)
        wide = await runs.drain(client, jobs, MANY)
        emit("pick-up and round trip")
        async with Worker(client, concurrency=CONCURRENCY):
            pick_up = await runs.pick_up(client, max(3, jobs // 40))
            round_trip = await runs.round_trip(client, max(3, jobs // 40))
        name = client.store.name
    return Benchmark(name, jobs, start, bulk, drain, wide, pick_up, round_trip)


class _Runs:
    """The job types of a benchmark, and the times that their handlers recorded."""

    def __init__(self) -> None:
        self.jobs = Jobs(name="benchmark")
        self._begun: asyncio.Future[float] | None = None

        @self.jobs.job(name="holdfast-bench-add")
        async def add(number: int) -> int:
            return number + 1

        @self.jobs.job(name="holdfast-bench-touch")
        async def touch() -> None:
            if self._begun is not None and not self._begun.done():
                self._begun.set_result(time.perf_counter())

        self._add, self._touch = add, touch

    async def start(self, client: Client, count: int) -> float:
        begun = time.perf_counter()
        for number in range(count):
            await client.start(self._add.bind(number))
        return count / (time.perf_counter() - begun)

    async def start_many(self, client: Client, count: int) -> float:
        begun = time.perf_counter()
        await client.start_many([self._add.bind(number) for number in range(count)])
        return count / (time.perf_counter() - begun)

    async def drain(self, client: Client, count: int, concurrency: int) -> float:
        left, done = count, asyncio.Event()

        def settled(event: Event) -> None:
            nonlocal left
            left -= event.kind == "completed"
            if not left:
                done.set()

        begun = time.perf_counter()
        async with Worker(client, concurrency=concurrency, observers=[settled]):
            await done.wait()
            return count / (time.perf_counter() - begun)

    async def pick_up(self, client: Client, tries: int) -> Latency:
        laps: list[float] = []
        for _ in range(tries + 1):
            self._begun = asyncio.get_running_loop().create_future()
            begun = time.perf_counter()
            chain = await client.start(self._touch.bind())
            laps.append(await self._begun - begun)
            await client.wait(chain, timeout=TIMEOUT)
        return _latency(laps[1:])

    async def round_trip(self, client: Client, tries: int) -> Latency:
        laps: list[float] = []
        for number in range(tries):
            begun = time.perf_counter()
            await client.run(self._add.bind(number), timeout=TIMEOUT)
            laps.append(time.perf_counter() - begun)
        return _latency(laps)


def _latency(laps: Sequence[float]) -> Latency:
    ordered = sorted(laps)
    return Latency(ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))])
