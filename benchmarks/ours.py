"""Holdfast itself, with its default durability."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.bare_commits import bare_commits
from benchmarks.contender import About, Contender, Place, fan_of
from benchmarks.ticks import lap, tick, ticked
from holdfast import Attempt, Bound, Client, Jobs, SyncClient, Worker
from holdfast.stores.sqlite.connection.async_connection import AsyncConnection

BEST = {"postgres": 1000, "redis": 500, "sqlite": 500, "memory": 500}
"""Concurrency of the rows called best."""
WARM_UP = 20
"""Steps before the measurement: the first ones prepare statements."""
LOOK_EVERY = 0.003
WRITE = {mark: f"insert into benchmark_write (number) values ({mark})" for mark in ("?", "%s")}  # noqa: S608
"""By the placeholder of the driver."""
_GUARANTEE = "at least once, leased and fenced by a token; what commits with the completion exactly once"
_RETENTION = "jobs, results and failed attempts are kept for a week"

jobs = Jobs()


@jobs.job
async def add(number: int) -> int:
    tick()
    return number + 1


@jobs.job
async def touch(sent: int) -> None:
    lap(sent)


@jobs.job
async def write(attempt: Attempt, number: int) -> int:
    async with attempt.complete() as done:
        if done.tx is not None:  # pyright: ignore[reportUnnecessaryComparison] - None on Redis
            await done.tx.execute(WRITE["?" if isinstance(done.tx, AsyncConnection) else "%s"], [number])
        tick()
        return done.output(number + 1)


@jobs.job
async def first(number: int) -> int | Bound[int]:
    tick()
    return second.bind(number + 1)


@jobs.job
async def second(number: int) -> int | Bound[int]:
    tick()
    return third.bind(number + 1)


@jobs.job
async def third(number: int) -> int:
    tick()
    return number + 1


@jobs.job
async def step(attempt: Attempt, number: int) -> int:
    tick()
    return await attempt.step("add", _added, number)


@jobs.job(timeout=300)
async def sequence(attempt: Attempt, url: str, count: int) -> list[float]:
    """The medians of a step and of a bare commit, which alternate."""
    laps: tuple[list[float], list[float]] = ([], [])
    async with bare_commits(url) as commit:
        for number in range(count + WARM_UP):
            begun = time.perf_counter()
            await attempt.step("add", _added, number, each=number)
            between = time.perf_counter()
            await commit(number)
            laps[0].append(between - begun)
            laps[1].append(time.perf_counter() - between)
    return [median(each[WARM_UP:]) for each in laps]


async def _added(number: int) -> int:
    return number + 1


@jobs.job
async def gather(attempt: Attempt) -> int:
    tick()
    return sum(int(each) for each in attempt.blockers)


class Ours(Contender):
    name = "Holdfast"
    about = {  # noqa: RUF012
        "postgres": About(_GUARANTEE, _RETENTION, f"concurrency={BEST['postgres']}"),
        "redis": About(_GUARANTEE, _RETENTION, f"concurrency={BEST['redis']}"),
        "sqlite": About(_GUARANTEE + "; synchronous=FULL", _RETENTION, f"concurrency={BEST['sqlite']}"),
        "memory": About(_GUARANTEE + "; nothing survives the process", _RETENTION, f"concurrency={BEST['memory']}"),
    }
    module = "holdfast"
    distributions = ("holdfast", "psycopg", "hiredis", "aiosqlite")
    has_steps = True
    drains = (10_000, 30_000)
    starts = (1500, 30_000)
    options = ""
    """The options after the path of a SQLite file."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.address = f"sqlite:///{place.url}{self.options}" if place.store == "sqlite" else place.url
        self.client = Client(self.address, jobs)

    async def setup(self) -> None:
        async with Client(self.address, jobs, migrate=True) as client:
            if self.place.store in ("postgres", "sqlite"):
                transaction = await client.store.begin()
                await transaction.native.execute("create table benchmark_write (number bigint)")
                await transaction.commit()

    async def open(self) -> None:
        await self.client.open()

    async def close(self) -> None:
        await self.client.close()

    async def start(self, number: int) -> None:
        await self.client.start(add.bind(number))

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self.client.start_many([add.bind(number) for number in numbers])

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        match kind:
            case "transactional":
                await self.client.start_many([write.bind(number) for number in numbers])
            case "chain":
                await self.client.start_many([first.bind(number) for number in numbers])
                return 3 * len(numbers)
            case "step":
                await self.client.start_many([step.bind(number) for number in numbers])
            case _ if kind.startswith("fan-in"):
                return await self._fan(numbers, fan_of(kind))
            case _:
                await self.start_many(numbers)
        return len(numbers)

    async def _fan(self, numbers: Sequence[int], fan: int) -> int:
        for begin in range(0, len(numbers), fan):
            chains = await self.client.start_many([add.bind(number) for number in numbers[begin : begin + fan]])
            await self.client.start(gather.bind(), after=chains)
        return len(numbers) + -(-len(numbers) // fan)

    async def touch(self, sent: int) -> None:
        await self.client.start(touch.bind(sent))

    async def call(self, number: int) -> int:
        return await self.client.run(add.bind(number), timeout=30)

    async def sequence(self, count: int) -> list[float]:
        return await self.client.run(sequence.bind(self.place.url, count), timeout=120)

    async def left(self) -> int:
        return await _left(self.client)

    async def work(self, slots: int | None) -> None:
        async with self.client:
            await Worker(self.client, concurrency=slots or BEST[self.place.store]).run()

    async def alone(self, what: str, count: int) -> float:
        """Measure in this process: for a store that other processes cannot use."""
        async with Client(self.address, jobs) as client:
            match what:
                case "one":
                    begun = time.perf_counter()
                    for number in range(count):
                        await client.start(add.bind(number))
                    return count / (time.perf_counter() - begun)
                case "bulk":
                    begun = time.perf_counter()
                    await client.start_many([add.bind(number) for number in range(count)])
                    return count / (time.perf_counter() - begun)
                case "call":
                    async with Worker(client):
                        await client.run(add.bind(0), timeout=30)
                        begun = time.perf_counter()
                        for number in range(count):
                            await client.run(add.bind(number), timeout=30)
                        return (time.perf_counter() - begun) / count
                case _:
                    slots = 10 if what == "drain 10" else BEST["memory"]
                    await client.start_many([add.bind(number) for number in range(count)])
                    begun = time.perf_counter()
                    # Without an observer, as in every other drain: a worker that is stopped ends when the last
                    # outcome is written.
                    async with Worker(client, concurrency=slots):
                        while ticked() < count:  # noqa: ASYNC110 - an event would be one more thing per job
                            await asyncio.sleep(LOOK_EVERY)
                    took = time.perf_counter() - begun
                    assert await _left(client) == 0
                    return count / took


async def _left(client: Client) -> int:
    counts = (await client.stats()).counts
    return sum(count for status, count in counts.items() if status in ("blocked", "pending", "running"))


class OursBlocking(Ours):
    """The same starts from blocking code."""

    name = "Holdfast, SyncClient"
    about = {store: about for store, about in Ours.about.items() if store != "memory"}  # noqa: RUF012
    blocking = True
    only = frozenset({"starting"})

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._sync: Any = SyncClient(self.address, jobs)

    def open(self) -> None:  # type: ignore[override]
        self._sync.open()

    def close(self) -> None:  # type: ignore[override]
        self._sync.close()

    def start(self, number: int) -> None:  # type: ignore[override]
        self._sync.start(add.bind(number))

    def start_many(self, numbers: Sequence[int]) -> None:  # type: ignore[override]
        self._sync.start_many([add.bind(number) for number in numbers])


class OursNormal(Ours):
    """On SQLite with synchronous=normal: a power failure may undo the last commits."""

    name = "Holdfast, synchronous=normal"
    about = {"sqlite": About(_GUARANTEE + "; synchronous=NORMAL", _RETENTION, f"concurrency={BEST['sqlite']}")}  # noqa: RUF012
    only = frozenset({"starting", "draining"})
    options = "?synchronous=normal"


class OursBlockingNormal(OursBlocking):
    """Blocking code, as in FlexiQ and the limit, with synchronous=normal, as in FlexiQ."""

    name = "Holdfast, SyncClient, synchronous=normal"
    about = OursNormal.about
    options = OursNormal.options
