"""Procrastinate on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place, Unsupported
from benchmarks.ticks import lap, tick


class Procrastinate(Contender):
    name = "Procrastinate"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="at least once, stalled jobs found by heartbeat; not fenced",
            retention="jobs and their events are kept; no results",
            best="concurrency=50, a pool of 20 connections",
        )
    }
    requirements = ("procrastinate==3.10.0", "psycopg[binary,pool]")
    module = "procrastinate"
    distributions = ("procrastinate", "psycopg")
    drains = (1200, 1500)
    starts = (500, 10000)
    keyed = 1000

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        library: Any = import_module("procrastinate")
        self._app = library.App(connector=library.PsycopgConnector(conninfo=place.url, min_size=1, max_size=20))

        async def add(number: int) -> int:
            tick()
            return number + 1

        async def touch(sent: int) -> None:
            lap(sent)

        self._add = self._app.task(name="add")(add)
        self._touch = self._app.task(name="touch")(touch)

    async def setup(self) -> None:
        async with self._app.open_async():
            await self._app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await self._app.open_async()

    async def close(self) -> None:
        await self._app.close_async()

    async def start(self, number: int) -> None:
        await self._add.defer_async(number=number)

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self._add.batch_defer_async(*({"number": number} for number in numbers))

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        """A lock per key. Jobs of one batch share their lock, so each is deferred by a call of its own."""
        name, _, keys = kind.partition(" ")
        if name != "keyed":
            return int(await super().load(kind, numbers) or len(numbers))
        for number in numbers:
            await self._add.configure(lock=f"key-{number % int(keys)}").defer_async(number=number)
        return len(numbers)

    async def touch(self, sent: int) -> None:
        await self._touch.defer_async(sent=sent)

    async def call(self, number: int) -> int:
        raise Unsupported("keeps no results and has no way to wait for a job")

    async def left(self) -> int:
        row = await self._app.connector.execute_query_one_async(
            "select count(*) as left from procrastinate_jobs where status in ('todo', 'doing')"
        )
        return int(row["left"])

    async def work(self, slots: int | None) -> None:
        async with self._app.open_async():
            await self._app.run_worker_async(concurrency=slots or 50, install_signal_handlers=False)
