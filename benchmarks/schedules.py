"""Holdfast with schedules, in a registry of its own: other scenarios have none."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from benchmarks.contender import SCHEDULES
from benchmarks.ours import BEST, Ours
from benchmarks.ticks import lap
from holdfast import Attempt, Client, Jobs, Worker

ticking = Jobs(name="ticking")


@ticking.job
async def on_time(attempt: Attempt, number: int) -> int:
    assert attempt.tick is not None
    late = datetime.now(UTC) - attempt.tick
    lap(time.monotonic_ns() - int(late.total_seconds() * 1e9))
    return number


for number in range(SCHEDULES):
    ticking.schedule(f"schedule-{number}", on_time.bind(number), every=timedelta(seconds=1))


class OursSchedules(Ours):
    name = "Holdfast, schedules"
    about = {store: about for store, about in Ours.about.items() if store != "memory"}  # noqa: RUF012
    only = frozenset({"schedules"})

    async def setup(self) -> None:
        async with Client(self.address, ticking, migrate=True):
            pass

    async def work(self, slots: int | None) -> None:
        async with Client(self.address, ticking) as client:
            await Worker(client, concurrency=slots or BEST[self.place.store]).run()
