"""awa-pg on PostgreSQL: a queue in Rust with handlers in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benchmarks.contender import About, Contender, Place, Unsupported
from benchmarks.ticks import lap, tick


@dataclass
class Add:
    number: int


@dataclass
class Touch:
    sent: int


class Awa(Contender):
    name = "awa-pg"
    about = {  # noqa: RUF012
        "postgres": About(
            guarantee="at least once by heartbeat, fenced by a run lease",
            retention="finished jobs are kept for a day; no results",
            best="1000 workers, 4 claimers, batches of 512",
        )
    }
    requirements = ("awa-pg==0.6.9",)
    module = "awa"
    distributions = ("awa-pg",)
    drains = (1500, 8000)
    starts = (500, 20000)

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        library: Any = import_module("awa")
        self._client = library.AsyncClient(place.url, max_connections=20)

    async def setup(self) -> None:
        await self._client.migrate()
        await self._client.install_queue_storage()
        await self._client.close()

    async def close(self) -> None:
        await self._client.close()

    async def start(self, number: int) -> None:
        await self._client.insert(Add(number))

    async def start_many(self, numbers: Sequence[int]) -> None:
        await self._client.enqueue_many_copy([Add(number) for number in numbers])

    async def touch(self, sent: int) -> None:
        await self._client.insert(Touch(sent))

    async def call(self, number: int) -> int:
        raise Unsupported("keeps no results and has no way to wait for a job")

    async def left(self) -> int:
        stats = await self._client.queue_stats()
        return sum(each.available + each.running + each.retryable + each.scheduled for each in stats)

    async def work(self, slots: int | None) -> None:
        async def add(job: Any) -> None:
            tick()

        async def touch(job: Any) -> None:
            lap(job.args.sent)

        self._client.task(Add)(add)
        self._client.task(Touch)(touch)
        best: dict[str, Any] = {"name": "default", "max_workers": 1000, "claimers": 4, "claim_batch_size": 512}
        await self._client.start([best] if slots is None else [("default", slots)])
        await asyncio.Event().wait()
