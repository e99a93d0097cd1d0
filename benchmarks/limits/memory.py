"""The limit of memory: a bare event loop that runs a task per job and keeps nothing."""

from __future__ import annotations

import asyncio
import time

from benchmarks.contender import About, Contender, Unsupported
from benchmarks.ticks import tick


class MemoryLimit(Contender):
    name = "limit: event loop"
    about = {"memory": About("none", "none", "100 tasks at a time")}  # noqa: RUF012
    drains = (100_000, 100_000)

    async def alone(self, what: str, count: int) -> float:
        """Tasks a second."""
        if not what.startswith("drain"):
            raise Unsupported("a loop has nothing to start")

        async def add(number: int) -> int:
            tick()
            return number + 1

        together = 10 if what == "drain 10" else 100
        begun = time.perf_counter()
        for number in range(0, count, together):
            await asyncio.gather(*(asyncio.create_task(add(number + each)) for each in range(together)))
        return count / (time.perf_counter() - begun)
