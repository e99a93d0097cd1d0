"""Fill a store, measure every page, and print a table."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from statistics import median

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from benchmarks.contender import Place
from benchmarks.dashboard.copying import copy_jobs, vacuum
from benchmarks.dashboard.history import write_history
from benchmarks.dashboard.pages import pages
from benchmarks.dashboard.present import write_present
from benchmarks.dashboard.processor_time import processor_time
from benchmarks.dashboard.shop import TYPES, jobs
from benchmarks.storage import STORES
from holdfast import Client
from holdfast.dashboard import Access, dashboard
from holdfast.engine.operations import Prune

GOAL = 0.1
"""Seconds: the goal for the median of a page."""


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    arguments.add_argument("store", choices=["sqlite", "postgres", "redis"])
    arguments.add_argument("--jobs", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    with STORES[given.store]() as storage, storage.fresh() as place:
        asyncio.run(measure(place, given.jobs, given.rounds))


async def measure(place: Place, count: int, rounds: int) -> None:
    begun = time.monotonic()
    url = f"sqlite:///{place.url}" if place.store == "sqlite" else place.url
    async with Client(url, jobs, migrate=True) as client:
        await write_history(client.store)
        written = await _count(client)
        await asyncio.to_thread(copy_jobs, place, max(1, round(count / written)))
        await client.store.perform(Prune(1))  # adds up the counters, as workers do
        present = await write_present(client)
        await asyncio.to_thread(vacuum, place)
        found = await pages(client, present)
        total = await _count(client)
        sys.stderr.write(f"{total:,} jobs in {place.store} after {time.monotonic() - begun:.0f} s\n")
        times = await _times(client, found, rounds)
    columns = ("median ms", "best ms", "first ms", "processor ms")
    print(f"| page of {total:,} jobs in {place.store} | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}")
    for name, requests in times.items():
        (first, _), *later = requests
        elapsed, used = ([each[at] for each in later] for at in (0, 1))
        mark = " **" if median(elapsed) > GOAL else ""
        figures = (median(elapsed), min(elapsed), first, median(used))
        print(f"| {name}{mark} | {' | '.join(f'{figure * 1000:.0f}' for figure in figures)} |")


async def _count(client: Client) -> int:
    return sum((await client.stats()).counts.values())


async def _times(client: Client, found: dict[str, str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """The seconds of each request: elapsed, and of the processors.

    Every page is requested in turn, so that none profits from its own repetition.
    """
    whole = dashboard(client, lambda _: Access("admin", user="ada"))
    some = dashboard(client, lambda _: Access("read", types=TYPES[:2]))
    app = Starlette(routes=[Mount("/some", some), Mount("/", whole)])
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        for _ in range(rounds + 1):
            for name, path in found.items():
                begun, used = time.perf_counter(), processor_time()
                response = await http.get(path)
                times[name].append((time.perf_counter() - begun, processor_time() - used))
                # 503: the store did not answer within the timeout of the dashboard.
                assert response.status_code in (200, 303, 503), (name, response.status_code, response.text[-300:])
    return times


if __name__ == "__main__":
    main()
