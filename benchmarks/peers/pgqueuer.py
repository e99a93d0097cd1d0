"""PgQueuer on PostgreSQL, with asyncpg and uvloop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick


class PgQueuer(Contender):
    name = "PgQueuer"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="at least once by heartbeat; outcomes are written late, in batches; not fenced",
            retention="the row is deleted, a line in a log is kept; no results",
            best="batch_size=500, a connection of asyncpg, uvloop",
        )
    }
    requirements = ("pgqueuer[asyncpg]==1.6.0", "uvloop")
    module = "pgqueuer"
    distributions = ("pgqueuer", "asyncpg")
    drains = (4000, 20000)
    starts = (1000, 20000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._asyncpg: Any = import_module("asyncpg")
        self._library: Any = import_module("pgqueuer")
        self._queries_module: Any = import_module("pgqueuer.queries")
        self._completion: Any = import_module("pgqueuer.core.completion")
        self._db: Any = import_module("pgqueuer.db")

    async def setup(self) -> None:
        await self.open()
        await self._queries.install()
        await self.close()

    async def open(self) -> None:
        self._connection = await self._asyncpg.connect(self.place.url)
        self._driver = self._db.AsyncpgDriver(self._connection)
        self._queries = self._queries_module.Queries(self._driver)
        self._watcher: Any = None

    async def close(self) -> None:
        if self._watcher is not None:
            await self._watcher.__aexit__(None, None, None)
        await self._connection.close()

    async def start(self, number: int) -> None:
        await self._queries.enqueue("add", str(number).encode())

    async def start_many(self, numbers: Sequence[int]) -> None:
        count = len(numbers)
        await self._queries.enqueue(["add"] * count, [str(number).encode() for number in numbers], [0] * count)

    async def touch(self, sent: int) -> None:
        await self._queries.enqueue("touch", str(sent).encode())

    async def call(self, number: int) -> None:
        """There are no results: this waits for the status alone, by its own watcher without the debounce."""
        if self._watcher is None:
            self._watcher = self._completion.CompletionWatcher(
                self._driver, queries=self._queries, debounce=timedelta(milliseconds=1)
            )
            await self._watcher.__aenter__()
        (job,) = await self._queries.enqueue("add", str(number).encode())
        assert await self._watcher.wait_for(job) == "successful"

    async def left(self) -> int:
        return int(await self._connection.fetchval("select count(*) from pgqueuer"))

    def work(self, slots: int | None) -> None:
        import_module("uvloop").install()
        asyncio.run(self._work(slots or 500))

    async def _work(self, batch: int) -> None:
        connection = await self._asyncpg.connect(self.place.url)
        queuer = self._library.PgQueuer(self._db.AsyncpgDriver(connection))

        async def add(job: Any) -> None:
            tick()

        async def touch(job: Any) -> None:
            lap(int(job.payload))

        queuer.entrypoint("add")(add)
        queuer.entrypoint("touch")(touch)
        await queuer.run(batch_size=batch)
