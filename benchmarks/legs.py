"""Where the time between a start and its answer goes: ``python -m benchmarks.legs --store postgres``.

A caller and an idle worker, each a process, on a fresh store. Each records when its operations of the store began and
ended. The legs between these times add up to the round trip. Both processes read the clock of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from benchmarks.storage import STORES
from holdfast import Client, Jobs, Worker
from holdfast.engine.operations import Operation

WARM_UP = 20
PAUSE = 0.02

LEGS = (
    "the start begins, until the worker asks for work",
    "the claim",
    "claimed, until the handler's first line",
    "the handler's end, until its outcome is sent",
    "the outcome is written",
    "written, until the caller has the output",
)

R = TypeVar("R")

jobs = Jobs()
_asked: dict[str, tuple[int, int]] = {}
"""When the worker last began and ended each verb that had an effect, in nanoseconds."""


@jobs.job
async def stamp() -> list[int]:
    """When its own claim was sent and answered, and when it runs; then the same of the outcome before."""
    now = time.time_ns()
    return [*_asked["claim"], now, *_asked.get("settle", (0, 0))]


async def work(url: str) -> None:
    """The worker's process."""
    async with Client(url, jobs) as client:
        store: Any = client.store
        perform = store.perform

        async def timed(operation: Operation[R], /) -> R:
            begun = time.time_ns()
            answer: R = await perform(operation)
            if answer:
                _asked[operation.verb] = begun, time.time_ns()
            return answer

        store.perform = timed
        await Worker(client, concurrency=10).run()


async def measure(url: str, count: int) -> list[list[float]]:
    """The legs of this many round trips, in milliseconds."""
    legs: list[list[float]] = []
    async with Client(url, jobs) as client:
        before: list[int] = []
        for _ in range(count + WARM_UP):
            begun = time.time_ns()
            stamps = await client.run(stamp.bind(), timeout=30)
            moments = [begun, *stamps[:3], time.time_ns()]
            if before:
                # The outcome of a job is known to its worker only when the next one runs.
                whole = [*before[:4], *stamps[3:], before[4]]
                legs.append([(after - earlier) / 1e6 for earlier, after in pairwise(whole)])
            before = moments
            await asyncio.sleep(PAUSE)
    return legs[WARM_UP - 1 :]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.legs", description=__doc__)
    parser.add_argument("--store", choices=["postgres", "redis", "sqlite"], default="postgres")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        asyncio.run(work(options.work))
        return 0
    with STORES[options.store]() as storage, storage.fresh() as place:
        url = f"sqlite:///{place.url}" if place.store == "sqlite" else place.url
        asyncio.run(_set_up(url))
        with subprocess.Popen([sys.executable, "-m", "benchmarks.legs", "--work", url]) as worker:
            try:
                legs = asyncio.run(measure(url, options.count))
            finally:
                worker.terminate()
    table = Table("leg", "p50, ms", title=f"{options.store}: {len(legs)} round trips")
    for name, leg in zip(LEGS, zip(*legs, strict=True), strict=True):
        table.add_row(name, f"{median(leg):.2f}")
    table.add_row("all", f"{median(map(sum, legs)):.2f}")
    Console().print(table)
    return 0


async def _set_up(url: str) -> None:
    async with Client(url, jobs, migrate=True):
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
