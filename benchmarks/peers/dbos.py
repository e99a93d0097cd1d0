"""DBOS on PostgreSQL: workflows of one function on a queue."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from importlib import import_module
from statistics import median
from typing import Any

from benchmarks.contender import About, Contender, Place
from benchmarks.ticks import lap, tick

POLL = 0.01


class Dbos(Contender):
    name = "DBOS"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="at least once; workflows of a dead executor are recovered when it comes back; not fenced",
            retention="workflows with inputs and results are kept",
            best="no limit of concurrency, polling_interval_sec=0.01",
        )
    }
    requirements = ("dbos==3.3.0", "psycopg[binary]")
    module = "dbos"
    distributions = ("dbos", "psycopg")
    drains = (600, 1000)
    has_steps = True
    starts = (300, 1000)
    keyed = 500

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._library: Any = import_module("dbos")
        self._sqlalchemy: Any = import_module("sqlalchemy")
        self._url = place.url

    def setup(self) -> None:
        self._launch()
        self._library.DBOS.destroy()

    def open(self) -> None:
        self._client = self._library.DBOSClient(system_database_url=self._url)
        self._engine = self._sqlalchemy.create_engine(self._url.replace("postgresql://", "postgresql+psycopg://"))

    def close(self) -> None:
        self._client.destroy()
        self._engine.dispose()

    async def start(self, number: int) -> None:
        await self._client.enqueue_async({"queue_name": "benchmark", "workflow_name": "add"}, number)

    def start_many(self, numbers: Sequence[int]) -> None:
        """There is no bulk verb: one call after the other."""
        for number in numbers:
            self._client.enqueue({"queue_name": "benchmark", "workflow_name": "add"}, number)

    def load(self, kind: str, numbers: Sequence[int]) -> Any:
        """A `keyed` job runs in the partition of its key, one at a time."""
        name, _, keys = kind.partition(" ")
        if name == "keyed":
            for number in numbers:
                key = str(number % int(keys))
                options = {"queue_name": "keyed", "workflow_name": "add", "queue_partition_key": key}
                self._client.enqueue(options, number)
            return None
        if kind != "step":
            return super().load(kind, numbers)
        for number in numbers:
            self._client.enqueue({"queue_name": "benchmark", "workflow_name": "step"}, number)
        return len(numbers)

    async def sequence(self, count: int) -> list[float]:
        handle = await self._client.enqueue_async({"queue_name": "benchmark", "workflow_name": "sequence"}, count)
        return [float(await handle.get_result(polling_interval_sec=POLL))]

    async def touch(self, sent: int) -> None:
        await self._client.enqueue_async({"queue_name": "benchmark", "workflow_name": "touch"}, sent)

    async def call(self, number: int) -> int:
        handle = await self._client.enqueue_async({"queue_name": "benchmark", "workflow_name": "add"}, number)
        return int(await handle.get_result(polling_interval_sec=POLL))

    def left(self) -> int:
        query = "select count(*) from dbos.workflow_status where status in ('ENQUEUED', 'PENDING')"
        with self._engine.connect() as connection:
            return int(connection.execute(self._sqlalchemy.text(query)).scalar())

    def work(self, slots: int | None) -> None:
        self._launch(slots)
        signal.pause()

    def _launch(self, slots: int | None = None) -> None:
        dbos = self._library.DBOS
        dbos(config={"name": "benchmark", "system_database_url": self._url, "log_level": "ERROR"})

        async def add(number: int) -> int:
            tick()
            return number + 1

        async def touch(sent: int) -> None:
            lap(sent)

        async def added(number: int) -> int:
            return number + 1

        added_once = dbos.step(name="added")(added)

        async def step(number: int) -> int:
            tick()
            return int(await added_once(number))

        async def sequence(count: int) -> float:
            laps: list[float] = []
            for number in range(count):
                begun = time.perf_counter()
                await added_once(number)
                laps.append(time.perf_counter() - begun)
            return median(laps)

        dbos.workflow(name="step")(step)
        dbos.workflow(name="sequence")(sequence)
        dbos.workflow(name="add")(add)
        dbos.workflow(name="touch")(touch)
        dbos.launch()
        dbos.register_queue(
            "benchmark", worker_concurrency=slots, polling_interval_sec=POLL, on_conflict="always_update"
        )
        dbos.register_queue("keyed", partition_concurrency=1, polling_interval_sec=POLL, on_conflict="always_update")
