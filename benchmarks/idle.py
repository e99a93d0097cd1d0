"""What idle workers cost: ``python -m benchmarks.idle --workers 1,16 --minutes 10``.

Each worker is a process on a store without jobs. It counts the operations that it performs by verb, and measures its
CPU time. The first minute is not counted: it contains the start.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from benchmarks.storage import STORES
from holdfast import Client, Jobs, Worker
from holdfast.engine.operations import Operation

WARM_UP = 60.0

R = TypeVar("R")

jobs = Jobs()


@jobs.job
async def resize() -> None: ...


async def work(url: str) -> None:
    """The process of a worker: counts between the two signals SIGUSR1, and prints the counts at its end."""
    counts: Counter[str] = Counter()
    used = [0.0]
    async with Client(url, jobs) as client:
        store: Any = client.store
        perform, perform_sync = store.perform, store.perform_sync

        async def counted(operation: Operation[R], /) -> R:
            counts[operation.verb] += 1
            answer: R = await perform(operation)
            return answer

        def counted_sync(operation: Operation[R], /) -> R:
            counts[operation.verb] += 1
            answer: R = perform_sync(operation)
            return answer

        def mark() -> None:
            if used[0] == 0.0:
                counts.clear()
                used[0] = time.process_time()
            else:
                measured.update(operations=dict(counts), cpu=time.process_time() - used[0])

        measured: dict[str, Any] = {}
        store.perform, store.perform_sync = counted, counted_sync
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, mark)
        await Worker(client).run()
        print(json.dumps(measured))


@contextmanager
def fleet(store: str, workers: int) -> Generator[list[subprocess.Popen[str]]]:
    """Idle worker processes on a fresh store."""
    with STORES[store]() as storage, storage.fresh() as place:
        url = f"sqlite:///{place.url}" if place.store == "sqlite" else place.url
        asyncio.run(_migrate(url))
        command = [sys.executable, "-m", "benchmarks.idle", "--url", url]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
        try:
            yield processes
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


async def _migrate(url: str) -> None:
    async with Client(url, jobs, migrate=True):
        pass


def measure(stores: list[str], sizes: list[int], minutes: float) -> list[tuple[str, int, Counter[str], float]]:
    """Operations by verb, and CPU milliseconds, per worker and minute. All fleets are idle at the same time."""
    with ExitStack() as fleets:
        kinds = [(store, size, fleets.enter_context(fleet(store, size))) for store in stores for size in sizes]
        for pause in (WARM_UP, minutes * 60):
            time.sleep(pause)
            for _, _, processes in kinds:
                for process in processes:
                    process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        measured: list[tuple[str, int, Counter[str], float]] = []
        for store, size, processes in kinds:
            total: Counter[str] = Counter()
            cpu = 0.0
            for process in processes:
                process.terminate()
                report = json.loads(process.communicate()[0])
                total.update(report["operations"])
                cpu += report["cpu"]
            measured.append((store, size, total, cpu * 1000 / size / minutes))
        return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", default="sqlite,postgres,redis")
    parser.add_argument("--workers", default="1,16")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.url:
        asyncio.run(work(options.url))
        return
    sizes = [int(each) for each in options.workers.split(",")]
    table = Table("store", "workers", "operations per worker and minute", "of these", "CPU, ms per worker and minute")
    for store, size, counts, cpu in measure(options.stores.split(","), sizes, options.minutes):
        rates = {verb: count / size / options.minutes for verb, count in counts.most_common()}
        verbs = ", ".join(f"{verb} {rate:.2f}" for verb, rate in rates.items())
        table.add_row(store, str(size), f"{sum(rates.values()):.2f}", verbs, f"{cpu:.0f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
