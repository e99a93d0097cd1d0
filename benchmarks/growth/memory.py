"""The memory of a worker while it runs many jobs: `python -m benchmarks.growth.memory --store redis`.

The worker is a process of its own, on a private server. This process starts jobs, and reads the memory of the worker.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.growth.servers import STORES, addresses
from holdfast import Client, Jobs, Worker
from holdfast.engine.operations import GetCounters, Start
from holdfast.engine.store import Store
from holdfast.stores.address import open_store
from holdfast.testing.builders import new_job

TYPE = "count"
TOGETHER = 1000
BACKLOG = 10_000
"""Jobs that wait at most, so that the server needs little memory."""
SAMPLES = 20
jobs = Jobs()


@jobs.job(name=TYPE, keep=0)
async def count() -> None:
    """Does nothing."""


async def work(address: str) -> None:
    async with Client(address, jobs) as client:
        await Worker(client, concurrency=100).run()


def measure(name: str, total: int) -> list[tuple[int, float]]:
    """Pairs of finished jobs and megabytes of the worker."""
    with addresses(name, 1) as [address]:
        command = [sys.executable, "-m", "benchmarks.growth.memory", "--worker", address]
        store = open_store(address)
        store.open_sync()
        store.migrate_sync()
        worker = subprocess.Popen(command)
        try:
            return _sample(store, worker.pid, total)
        finally:
            worker.terminate()
            worker.wait()
            store.close_sync()


def _sample(store: Store, pid: int, total: int) -> list[tuple[int, float]]:
    samples: list[tuple[int, float]] = []
    started = finished = 0
    while finished < total:
        while started < min(total, finished + BACKLOG):
            store.perform_sync(Start(tuple(new_job(TYPE, keep=0) for _ in range(TOGETHER))))
            started += TOGETHER
        time.sleep(0.05)
        counts = store.perform_sync(GetCounters()).totals.get(TYPE)
        finished = 0 if counts is None else counts.completed
        if finished >= (len(samples) + 1) * total // SAMPLES:
            samples.append((finished, resident(pid)))
            print(f"{finished:,} jobs: {samples[-1][1]:.1f} MB", flush=True)
    return samples


def resident(pid: int) -> float:
    """Megabytes that a process holds in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth.memory", description=__doc__)
    parser.add_argument("--store", choices=STORES, default="redis")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        asyncio.run(work(options.worker))
        return
    measure(options.store, options.jobs)


if __name__ == "__main__":
    main()
