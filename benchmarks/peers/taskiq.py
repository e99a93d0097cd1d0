"""taskiq on Redis, by streams, which acknowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick

TOGETHER = 100


class Taskiq(Contender):
    name = "taskiq"
    about = {  # noqa: RUF012
        "redis": About(
            guarantee="at least once, unacknowledged messages come back after ten minutes; not fenced",
            retention="the message stays in the stream, its result is kept",
            best="200 tasks at a time, streams read 100 at a time, uvloop",
        )
    }
    requirements = ("taskiq==0.13.0", "taskiq-redis==1.2.4", "uvloop")
    module = "taskiq"
    distributions = ("taskiq", "taskiq-redis", "redis")
    drains = (2000, 3000)
    starts = (1000, 3000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        library: Any = import_module("taskiq_redis")
        self._api: Any = import_module("taskiq.api")
        broker = library.RedisStreamBroker(place.url, consumer_id="0")
        self._broker = broker.with_result_backend(library.RedisAsyncResultBackend(place.url))
        self._redis: Any = import_module("redis.asyncio").from_url(place.url)

        async def add(number: int) -> int:
            tick()
            return number + 1

        async def touch(sent: int) -> None:
            lap(sent)

        self._add = self._broker.task("add")(add)
        self._touch = self._broker.task("touch")(touch)

    async def open(self) -> None:
        await self._broker.startup()

    async def close(self) -> None:
        await self._broker.shutdown()
        await self._redis.aclose()

    async def start(self, number: int) -> None:
        await self._add.kiq(number)

    async def start_many(self, numbers: Sequence[int]) -> None:
        """There is no bulk verb: a hundred calls at a time."""
        for first in range(0, len(numbers), TOGETHER):
            await asyncio.gather(*(self.start(number) for number in numbers[first : first + TOGETHER]))

    async def touch(self, sent: int) -> None:
        await self._touch.kiq(sent)

    async def call(self, number: int) -> int:
        task = await self._add.kiq(number)
        answer = await task.wait_result(check_interval=0.001, timeout=30)
        return int(answer.return_value)

    async def left(self) -> int:
        pending = await self._redis.xpending("taskiq", "taskiq")
        return int(pending["pending"])

    def work(self, slots: int | None) -> None:
        import_module("uvloop").install()
        asyncio.run(self._work(slots or 200))

    async def _work(self, slots: int) -> None:
        self._broker.is_worker_process = True
        await self._broker.startup()
        await self._api.run_receiver_task(self._broker, max_async_tasks=slots)
