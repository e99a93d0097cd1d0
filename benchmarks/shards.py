"""Two PostgreSQL servers as shards against one: `python -m benchmarks.shards`. Each server is pinned to its own core.

Starts and drains are measured in turns, one server and then two, so that both see the same machine. The worker
processes and this program use all cores: on a machine with two cores they compete with the servers, which the CPU times
of the servers show.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from holdfast import Client, Jobs, Worker
from holdfast.core.record import Status
from holdfast.stores.sharded.address import write_shards
from tests.servers.postgres import Postgres, running_postgres

jobs = Jobs()


@jobs.job
async def nothing(number: int) -> int:
    return number


async def serve(address: str, concurrency: int) -> None:
    """Run a worker until SIGTERM. Called in a process of its own."""
    async with Client(address, jobs) as client:
        await Worker(client, concurrency=concurrency).run()


async def start_all(client: Client, count: int) -> float:
    """Start jobs in batches of 500, eight batches at a time. Returns the jobs per second."""
    numbers = iter(range(0, count, 500))

    async def produce() -> None:
        for first in numbers:
            await client.start_many([nothing.bind(number) for number in range(first, min(first + 500, count))])

    begun = time.perf_counter()
    await asyncio.gather(*(produce() for _ in range(8)))
    return count / (time.perf_counter() - begun)


async def drain_all(client: Client, count: int, workers: int) -> float:
    """Let the workers run all jobs. Returns the jobs per second."""
    while len(await client.workers()) < workers:  # noqa: ASYNC110 - other processes cause it
        await asyncio.sleep(0.1)
    begun = time.perf_counter()
    await client.resume("nothing")
    while (await client.stats()).counts[Status.COMPLETED] < count:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return count / (time.perf_counter() - begun)


@contextmanager
def pinned(core: int) -> Generator[Postgres]:
    """A server on one core, with commits that reach the disk."""
    with running_postgres(fsync="on", synchronous_commit="on") as server:
        assert server.pid is not None
        for pid in (server.pid, *_children(server.pid)):
            os.sched_setaffinity(pid, {core})
        yield server


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_seconds(servers: Sequence[Postgres]) -> float:
    """The CPU time of the servers, with their ended processes."""
    ticks = 0
    for server in servers:
        assert server.pid is not None
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(fields[position]) for position in (11, 12, 13, 14))
        for child in _children(server.pid):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(servers: Sequence[Postgres], names: Sequence[str], *, count: int, workers: int, slots: int) -> list[float]:
    """Starts per second, jobs per second, and the CPU seconds of the servers per 1,000 jobs of the drain."""
    for server in servers:
        with server.connect() as connection:
            connection.execute("drop schema if exists holdfast cascade")
    address = servers[0].address()
    if len(servers) > 1:
        address = write_shards({name: server.address() for name, server in zip(names, servers, strict=True)})
    return asyncio.run(_measure(address, servers, count=count, workers=workers, slots=slots))


async def _measure(address: str, servers: Sequence[Postgres], *, count: int, workers: int, slots: int) -> list[float]:
    async with Client(address, jobs, migrate=True) as client:
        await client.pause("nothing")
        started = await start_all(client, count)
        command = [sys.executable, "-m", "benchmarks.shards", "--serve", address, "--slots", str(slots)]
        processes = [subprocess.Popen(command) for _ in range(workers)]  # noqa: ASYNC220 - nothing else runs
        try:
            before = cpu_seconds(servers)
            drained = await drain_all(client, count, workers)
            used = cpu_seconds(servers) - before
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        return [started, drained, used / count * 1000]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--slots", type=int, default=200)
    parser.add_argument("--serve", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        asyncio.run(serve(given.serve, given.slots))
        return
    with ExitStack() as stack:
        servers = [stack.enter_context(pinned(core)) for core in range(2)]
        rows: dict[int, list[list[float]]] = {1: [], 2: []}
        for _ in range(given.rounds):
            for number, found in rows.items():
                shown = measure(
                    servers[:number], ("one", "two")[:number], count=given.count, workers=given.workers,
                    slots=given.slots,
                )  # fmt: skip
                found.append(shown)
                print(
                    f"{number} server(s): start {shown[0]:,.0f}/s, drain {shown[1]:,.0f}/s, cpu {shown[2]:.3f} s/1000"
                )
    medians = {number: [median(column) for column in zip(*found, strict=True)] for number, found in rows.items()}
    for name, position in (("start_many of 500", 0), ("drain", 1)):
        one, two = medians[1][position], medians[2][position]
        print(f"{name}: {one:,.0f}/s with one, {two:,.0f}/s with two, {two / one:.2f} times")


if __name__ == "__main__":
    main()
