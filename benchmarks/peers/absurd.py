"""absurd on PostgreSQL: tasks with steps. Takes part in the scenarios of steps.

Its Python package has no schema: HOLDFAST_BENCH_ABSURD names the file `sql/absurd.sql` of its repository.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contender import About, Contender, Place, Unsupported
from benchmarks.ticks import tick

VARIABLE = "HOLDFAST_BENCH_ABSURD"
QUEUE = "benchmark"
POLL = 0.01
BEST = 100


class Absurd(Contender):
    name = "absurd"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="steps at least once; a checkpoint checks the state of its run, by a statement of its own",
            retention="tasks, runs and checkpoints are kept",
            best=f"AsyncAbsurd, concurrency={BEST}, poll_interval={POLL}",
        )
    }
    requirements = ("absurd-sdk==0.5.1", "psycopg[binary]")
    module = "absurd_sdk"
    distributions = ("absurd-sdk", "psycopg")
    only = frozenset({"steps"})
    has_steps = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("absurd_sdk")
        self._psycopg: Any = import_module("psycopg")

    async def setup(self) -> None:
        schema = os.environ.get(VARIABLE)
        if schema is None:
            raise Unsupported(f"its Python package has no schema; {VARIABLE} names sql/absurd.sql of its repository")
        async with await self._psycopg.AsyncConnection.connect(self.place.url, autocommit=True) as connection:
            await connection.execute(Path(schema).read_text())  # noqa: ASYNC240 - nothing else runs
        await self.open()
        await self._client.create_queue(QUEUE)
        await self.close()

    async def open(self) -> None:
        self._client = self._library.AsyncAbsurd(self.place.url, queue_name=QUEUE)
        self._connection = await self._psycopg.AsyncConnection.connect(self.place.url, autocommit=True)

    async def close(self) -> None:
        await self._client.close()
        await self._connection.close()

    async def load(self, kind: str, numbers: Sequence[int]) -> int:
        """There is no bulk verb: one call after the other."""
        for number in numbers:
            await self._client.spawn({"plain": "add"}.get(kind, kind), number, queue=QUEUE)
        return len(numbers)

    async def sequence(self, count: int) -> list[float]:
        spawned = await self._client.spawn("sequence", count, queue=QUEUE)
        snapshot = await self._client.await_task_result(spawned["task_id"])
        return [float(snapshot.result)]

    async def left(self) -> int:
        query = f"select count(*) from absurd.t_{QUEUE} where state in ('pending', 'running', 'sleeping')"  # noqa: S608
        (left,) = await (await self._connection.execute(query)).fetchone()
        return int(left)

    async def work(self, slots: int | None) -> None:
        client = self._library.AsyncAbsurd(self.place.url, queue_name=QUEUE)

        async def add(number: int, context: Any) -> int:
            tick()
            return number + 1

        async def step(number: int, context: Any) -> int:
            tick()
            return int(await context.step("add", lambda: _added(number)))

        async def sequence(count: int, context: Any) -> float:
            laps: list[float] = []
            for number in range(count):
                begun = time.perf_counter()
                await context.step(f"add-{number}", lambda number=number: _added(number))
                laps.append(time.perf_counter() - begun)
            return median(laps)

        for name, handler in {"add": add, "step": step, "sequence": sequence}.items():
            client.register_task(name)(handler)
        await client.start_worker(concurrency=slots or BEST, poll_interval=POLL)


async def _added(number: int) -> int:
    return number + 1
