"""Chancy on PostgreSQL, with its asyncio executor."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick

POLL = 0.01


async def add(*, number: int) -> int:
    tick()
    return number + 1


async def touch(*, sent: int) -> None:
    lap(sent)


class Chancy(Contender):
    name = "Chancy"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="at least once; outcomes are written late, in batches, and lost with the worker until then",
            retention="jobs are kept and pruned; no results",
            best="concurrency=1000, eager polling, outcomes every 10 ms",
        )
    }
    requirements = ("chancy==0.26.0", "psycopg[binary,pool]")
    module = "chancy"
    distributions = ("chancy", "psycopg")
    drains = (600, 6000)
    starts = (500, 10000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("chancy")
        self._jobs: Any = import_module("chancy.job")
        log = logging.getLogger("chancy-benchmark")
        log.setLevel(logging.CRITICAL)
        self._app = self._library.Chancy(place.url, log=log)

    async def setup(self) -> None:
        async with self._app:
            await self._app.migrate()

    async def open(self) -> None:
        await self._app.__aenter__()

    async def close(self) -> None:
        await self._app.__aexit__(None, None, None)

    async def start(self, number: int) -> None:
        await self._app.push(self._job(add, number=number))

    async def start_many(self, numbers: Sequence[int]) -> None:
        async for _ in self._app.push_many([self._job(add, number=number) for number in numbers]):
            pass

    async def touch(self, sent: int) -> None:
        await self._app.push(self._job(touch, sent=sent))

    async def call(self, number: int) -> None:
        """There are no results: this waits for the state, looking every ten milliseconds."""
        reference = await self._app.push(self._job(add, number=number))
        done = await self._app.wait_for_job(reference, interval=POLL)
        assert done.state.value == "succeeded"

    async def left(self) -> int:
        async with self._app.pool.connection() as connection:
            cursor = await connection.execute(
                "select count(*) from chancy_jobs where state not in ('succeeded', 'failed')"
            )
            (count,) = await cursor.fetchone()
            return int(count)

    async def work(self, slots: int | None) -> None:
        async with self._app:
            queue = self._library.Queue(
                "default",
                concurrency=slots or 1000,
                executor=self._library.Chancy.Executor.Async,
                polling_interval=1,
                eager_polling=True,
            )
            await self._app.declare(queue, upsert=True)
            worker = self._library.Worker(self._app, register_signal_handlers=False)
            # Documented as the way to set how long outcomes may wait to be written: a second, by default.
            worker.send_outgoing_interval = POLL
            async with worker:
                await worker.wait_for_shutdown()

    def _job(self, function: Any, **given: Any) -> Any:
        return self._jobs.Job.from_func(function, kwargs=given)
