"""SAQ on PostgreSQL and on Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick

TOGETHER = 100


class Saq(Contender):
    name = "SAQ"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="at least once by a sweep for stuck jobs; not fenced",
            retention="jobs and results are kept for ten minutes",
            best="concurrency=100, a pool of 20 connections",
        ),
        "redis": About(
            guarantee="at least once by a sweep for stuck jobs; not fenced",
            retention="jobs and results are kept for ten minutes",
            best="concurrency=100, hiredis",
        ),
    }
    requirements = ("saq[redis,hiredis,postgres]==0.26.4", "psycopg[binary,pool]")
    module = "saq"
    distributions = ("saq", "psycopg", "redis")
    drains = (1200, 2000)
    starts = (500, 3000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("saq")
        logging.getLogger("saq").setLevel(logging.ERROR)
        self._queue = self._library.Queue.from_url(place.url)

    async def setup(self) -> None:
        await self.open()
        await self.close()

    async def open(self) -> None:
        await self._queue.connect()

    async def close(self) -> None:
        await self._queue.disconnect()

    async def start(self, number: int) -> None:
        await self._queue.enqueue("add", number=number)

    async def start_many(self, numbers: Sequence[int]) -> None:
        """There is no bulk verb: a hundred calls at a time."""
        for first in range(0, len(numbers), TOGETHER):
            await asyncio.gather(*(self.start(number) for number in numbers[first : first + TOGETHER]))

    async def touch(self, sent: int) -> None:
        await self._queue.enqueue("touch", sent=sent)

    async def call(self, number: int) -> int:
        return int(await self._queue.apply("add", poll_interval=0.005, number=number))

    async def left(self) -> int:
        return int(await self._queue.count("incomplete"))

    async def work(self, slots: int | None) -> None:
        async def add(context: Any, *, number: int) -> int:
            tick()
            return number + 1

        async def touch(context: Any, *, sent: int) -> None:
            lap(sent)

        functions: list[tuple[str, Any]] = [("add", add), ("touch", touch)]
        await self._queue.connect()
        worker = self._library.Worker(self._queue, functions=functions, concurrency=slots or 100)
        await worker.start()
