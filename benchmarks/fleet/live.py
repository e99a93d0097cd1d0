"""Measure real fleets on one store: `python -m benchmarks.fleet.live --store postgres --workers 1,4,16,64`.

Each fleet is measured idle, with single starts, with single starts after one of its processes was killed, and busy.
Up to eight processes share the workers, because 64 interpreters need minutes to start on a small machine. Each worker
has its own client, connections and listener, as a process of its own would have.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.fleet.live_worker import Measured, registry
from benchmarks.fleet.measure import server_seconds
from holdfast import Client
from holdfast.core.record import Status
from holdfast.worker.stagger import SMALL_FLEET
from tests.servers.postgres import running_postgres
from tests.servers.redis import run_redis

PROCESSES = 8
SETTLE_SECONDS, KNOWN_SECONDS = 5.0, 40.0
"""After the start, until all workers are idle, and until those of a large fleet know each other: they read the list of
the workers twice a minute."""
IDLE_SECONDS = 30.0
SINGLE, SINGLE_PAUSE = 60, 0.1
BUSY, BUSY_TOGETHER, HANDLER = 3000, 20, 0.005
"""Jobs, jobs in a transaction, and the duration of a handler in seconds."""


class Target(NamedTuple):
    """A store, the CPU seconds of its server, and the number of its connections. SQLite has no server."""

    url: str
    cpu: Callable[[], float]
    connections: Callable[[], int]


class Phase(NamedTuple):
    """What a fleet did in one phase."""

    seconds: float
    server: float
    counts: Counter[str]
    delays: list[float]
    workers_cpu: float


@contextmanager
def target(store: str) -> Generator[Target]:
    if store == "postgres":
        with running_postgres(fsync="on", shared_buffers="256MB", max_connections="1000") as server:
            assert server.pid is not None
            with closing(server.connect()) as connection:

                def sessions() -> int:
                    query = "select count(*) from pg_stat_activity where backend_type = 'client backend'"
                    row = connection.execute(query).fetchone()
                    assert row is not None
                    return int(row[0]) - 1

                yield Target(server.address(), server_seconds(server.pid), sessions)
    elif store == "redis":
        with run_redis(appendonly="yes", appendfsync="everysec") as redis, redis.connect() as client:
            assert redis.pid is not None
            info: Any = client
            yield Target(
                redis.address(),
                server_seconds(redis.pid),
                lambda: int(info.info("clients")["connected_clients"]) - 1,
            )
    else:
        with tempfile.TemporaryDirectory(prefix="holdfast-fleet-") as folder:
            yield Target(f"sqlite:///{Path(folder) / 'jobs.db'}", lambda: 0.0, lambda: 0)


class LiveFleet:
    """The processes of one fleet."""

    def __init__(self, where: Target, workers: int) -> None:
        self.where = where
        count = min(PROCESSES, workers)
        command = [sys.executable, "-m", "benchmarks.fleet.live_worker", where.url, str(workers // count)]
        self.processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        for process in self.processes:
            _read(process)

    def report(self) -> list[dict[str, Any]]:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return [_read(process) for process in self.processes]

    async def phase(self, action: Callable[[], Any]) -> Phase:
        await asyncio.to_thread(self.report)
        begun, used = time.monotonic(), self.where.cpu()
        await action()
        seconds, server = time.monotonic() - begun, self.where.cpu() - used
        counts: Counter[str] = Counter()
        delays: list[float] = []
        cpu = 0.0
        for each in await asyncio.to_thread(self.report):
            counts.update(each["counts"])
            delays += each["delays"]
            cpu += each["cpu"]
        return Phase(seconds, server, counts, delays, cpu)

    def kill_one(self) -> None:
        """End one process as a crash does: its workers stay in the list of live workers."""
        process = self.processes.pop()
        process.kill()
        process.wait()

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def _read(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


async def measure(where: Target, workers: int, emit: Callable[[str], None]) -> None:
    jobs = registry(Measured())
    work = jobs["work"]
    async with Client(where.url, jobs, migrate=True) as client:
        fleet = await asyncio.to_thread(LiveFleet, where, workers)

        async def single() -> None:
            for _ in range(SINGLE):
                await client.start(work.bind(time.time(), 0.0))
                await asyncio.sleep(SINGLE_PAUSE)
            await asyncio.sleep(1.5)

        async def busy() -> None:
            for _ in range(0, BUSY, BUSY_TOGETHER):
                await client.start_many([work.bind(time.time(), HANDLER) for _ in range(BUSY_TOGETHER)])
            while True:
                counts = (await client.stats()).counts
                if not counts[Status.PENDING] and not counts[Status.RUNNING]:
                    return
                await asyncio.sleep(0.02)

        try:
            await asyncio.sleep(KNOWN_SECONDS if workers > SMALL_FLEET else SETTLE_SECONDS)
            idle = await fleet.phase(lambda: asyncio.sleep(IDLE_SECONDS))
            one = await fleet.phase(single)
            many = await fleet.phase(busy)
            connections = where.connections()
            dead = None
            if len(fleet.processes) > 1:
                fleet.kill_one()
                dead = await fleet.phase(single)
            emit(_row(workers, connections, idle, one, many, dead))
        finally:
            fleet.stop()


def _row(workers: int, connections: int, idle: Phase, one: Phase, many: Phase, dead: Phase | None) -> str:
    """A row of a Markdown table."""
    operations = sum(number for verb, number in idle.counts.items() if verb not in ("received", "empty"))
    after = "" if dead is None else f"{median(dead.delays) * 1000:.1f}, {max(dead.delays) * 1000:.0f} ms"
    lost = 0 if dead is None else SINGLE - len(dead.delays)
    cells = [
        str(workers),
        str(connections),
        f"{operations / workers * 60 / idle.seconds:.1f}",
        f"{idle.server / idle.seconds:.1%}",
        f"{one.counts['claim'] / SINGLE:.2f}",
        f"{one.counts['next_due'] / SINGLE:.1f}",
        f"{median(one.delays) * 1000:.1f}, {max(one.delays) * 1000:.0f} ms",
        after + (f" ({lost} not started)" if lost else ""),
        f"{BUSY / many.seconds:.0f}",
        f"{many.counts['claim'] / BUSY:.2f}, {many.counts['empty'] / BUSY:.2f}",
        f"{many.counts['received'] / BUSY:.2f}",
        f"{many.server / BUSY * 1e6:.0f} µs",
        f"{many.workers_cpu / BUSY * 1e6:.0f} µs",
    ]
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| workers | connections | idle: operations per worker and minute | idle: server CPU | claims per single start"
    " | reads of the next due time per single start | pick-up, median and longest"
    " | pick-up after the kill of a process, median and longest | busy: jobs per second"
    " | busy: claims and empty claims per job | busy: wake-ups received per job, all workers together"
    " | busy: server CPU per job | busy: CPU of all workers per job |"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet.live", description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgres", "redis"), required=True)
    parser.add_argument("--workers", default="1,4,16,64")
    options = parser.parse_args()
    print(HEAD + "\n|" + " --- |" * HEAD.count(" | ") + " --- |")
    # The largest first: its figures exist even if the run is stopped.
    for size in sorted(map(int, options.workers.split(",")), reverse=True):
        with ExitStack() as stack:
            where = stack.enter_context(target(options.store))
            asyncio.run(measure(where, size, lambda row: print(row, flush=True)))


if __name__ == "__main__":
    main()
