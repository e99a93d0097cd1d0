"""streaQ on Redis streams; it needs the functions of Redis 7."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import SCHEDULES, About, Contender, Place
from benchmarks.ticks import lap, lap_of_second, tick


class Streaq(Contender):
    name = "streaQ"
    about = {  # noqa: RUF012
        "redis": About(
            guarantee="at least once, idle messages are claimed after a minute; not fenced",
            retention="the task is deleted, its result kept for five minutes",
            best="concurrency=64, uvloop",
        )
    }
    requirements = ("streaq==7.2.0", "uvloop")
    module = "streaq"
    distributions = ("streaq", "coredis")
    drains = (2000, 4000)
    starts = (1000, 5000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._make(64)

    async def open(self) -> None:
        await self._worker.__aenter__()

    async def close(self) -> None:
        await self._worker.__aexit__(None, None, None)

    async def start(self, number: int) -> None:
        await self._add.enqueue(number)

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self._worker.enqueue_many([self._add.enqueue(number) for number in numbers])

    async def touch(self, sent: int) -> None:
        await self._touch.enqueue(sent)

    async def call(self, number: int) -> int:
        task = await self._add.enqueue(number)
        return int((await task.result(30)).result)

    async def left(self) -> int:
        return int(await self._worker.queue_size())

    def work(self, slots: int | None) -> None:
        self._make(slots or 64)
        import_module("uvloop").install()
        asyncio.run(self._worker.run_async())

    def _make(self, concurrency: int) -> None:
        library: Any = import_module("streaq")
        self._worker = library.Worker(redis_url=self.place.url, concurrency=concurrency, handle_signals=False)

        async def add(number: int) -> int:
            tick()
            return number + 1

        async def touch(sent: int) -> None:
            lap(sent)

        self._add = self._worker.task(name="add")(add)
        self._touch = self._worker.task(name="touch")(touch)


class StreaqSchedules(Streaq):
    """Cron jobs that fire every second."""

    name = "streaQ schedules"
    only = frozenset({"schedules"})

    def _make(self, concurrency: int) -> None:
        super()._make(concurrency)

        async def on_time() -> None:
            lap_of_second()

        for number in range(SCHEDULES):
            self._worker.cron("* * * * * * *", name=f"schedule-{number}")(on_time)
