"""``python -m torture.peers --peer procrastinate --seeds 1 2 3``: Holdfast and a peer with the same kills and restarts.

The seed determines when which worker is killed. Every queue gets the same faults at the same times during the planned
duration of the load, even if its producer takes longer. Then there are no more faults, and time to recover.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from signal import SIGKILL, SIGQUIT
from typing import Any

from torture.fork_server import follow_parent
from torture.peers.effects import MARKS

ROOT = Path(__file__).parents[2]
JOBS, PAUSE = 800, 0.04
WORKERS = 3
KILL_EVERY, RESTART_EVERY = 1.0, 9.0
TIMEOUT = 180.0
STORES = {"procrastinate": "postgres", "saq": "redis"}
QUEUES = {"procrastinate": ("ours", "ours_outside", "procrastinate"), "saq": ("ours", "saq")}


def compare(adapter: str, store: str, seed: int) -> dict[str, Any]:
    """Run the workload on one queue; returns how many jobs were accepted, lost, duplicated and stuck."""
    rng = random.Random(seed)
    queue: Any = import_module(f"torture.peers.{adapter}")
    with ExitStack() as stack:
        server, url = _server(stack, store)
        asyncio.run(queue.setup(url))
        accepted: list[int] = []
        producing = threading.Thread(
            target=lambda: accepted.extend(asyncio.run(queue.enqueue(url, range(JOBS), PAUSE))), daemon=True
        )
        workers = [_start(adapter, url) for _ in range(WORKERS)]
        stack.callback(_end, workers)
        time.sleep(2)
        producing.start()
        kills, restarts = _inject_faults(adapter, url, workers, server=server, store=store, rng=rng)
        while producing.is_alive():
            time.sleep(0.05)
            _replace(adapter, url, workers)
        healed = time.monotonic()
        left = 1
        while left and time.monotonic() < healed + TIMEOUT:
            time.sleep(0.5)
            _replace(adapter, url, workers)
            left = asyncio.run(queue.unfinished(url))
        rest = time.monotonic() - healed
        marks = Counter(_marks(server, store))
    missing = sum(not marks[number] for number in accepted)
    return {
        "queue": adapter, "store": store, "seed": seed, "accepted": len(accepted), "kills": kills,
        "restarts": restarts, "lost": missing - min(left, missing), "duplicated": sum(n > 1 for n in marks.values()),
        "stuck": left, "seconds to rest": round(rest, 1),
    }  # fmt: skip


def _inject_faults(
    adapter: str, url: str, workers: list[subprocess.Popen[bytes]], *, server: Any, store: str, rng: random.Random
) -> tuple[int, int]:
    """Kill workers and restart the server by the seeded schedule; returns how often. Killed workers are replaced."""
    begun = time.monotonic()
    kills: list[tuple[float, int]] = []
    while (at := (kills[-1][0] if kills else 0.0) + rng.uniform(0.5, 1.5) * KILL_EVERY) < JOBS * PAUSE:
        kills.append((at, rng.randrange(WORKERS)))
    restarts = [RESTART_EVERY * number for number in range(1, 1 + int(JOBS * PAUSE / RESTART_EVERY))]
    planned = len(kills), len(restarts)
    while kills or restarts:
        time.sleep(0.02)
        _replace(adapter, url, workers)
        if kills and time.monotonic() >= begun + kills[0][0]:
            workers[kills.pop(0)[1]].kill()
        if restarts and time.monotonic() >= begun + restarts[0]:
            restarts.pop(0)
            server.restart(SIGQUIT if store == "postgres" else SIGKILL)
    return planned


def _server(stack: ExitStack, store: str) -> tuple[Any, str]:
    if store == "postgres":
        from tests.servers.postgres import running_postgres

        server: Any = stack.enter_context(running_postgres(fsync="on"))
        with server.connect() as connection:
            connection.execute(f"create table {MARKS} (number bigint)")
        return server, f"postgresql://postgres@127.0.0.1:{server.port}/postgres"
    from tests.servers.ports import free_port
    from tests.servers.redis import run_redis

    port = free_port()
    server = stack.enter_context(run_redis(port=port, appendonly="yes", appendfsync="always"))
    return server, f"redis://127.0.0.1:{port}"


def _marks(server: Any, store: str) -> list[int]:
    with server.connect() as connection:
        if store == "postgres":
            return [number for (number,) in connection.execute(f"select number from {MARKS}")]  # noqa: S608
        return [int(number) for number in connection.lrange(MARKS, 0, -1)]


def _start(adapter: str, url: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "torture.peers", "--work", adapter, "--url", url]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, preexec_fn=follow_parent)


def _replace(adapter: str, url: str, workers: list[subprocess.Popen[bytes]]) -> None:
    for place, worker in enumerate(workers):
        if worker.poll() is not None:
            workers[place] = _start(adapter, url)


def _end(workers: list[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.kill()
        worker.wait()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m torture.peers", description=__doc__)
    parser.add_argument("--peer", choices=list(STORES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--table", type=Path, nargs="+", help="print the results of earlier runs as rows of a table")
    parser.add_argument("--work", choices=["ours", "ours_outside", *STORES], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work is not None:
        asyncio.run(import_module(f"torture.peers.{options.work}").work(options.url))
        return 0
    if options.table is not None:
        reported = [json.loads(line) for file in options.table for line in file.read_text().splitlines()]
        sys.stdout.write("\n".join(map(_row, reported)) + "\n")
        return 0
    if options.peer is None:
        parser.error("--peer is required: the queue to compare with")
    for seed in options.seeds:
        for adapter in QUEUES[options.peer]:
            sys.stdout.write(json.dumps(compare(adapter, STORES[options.peer], seed)) + "\n")
            sys.stdout.flush()
    return 0


def _row(reported: dict[str, Any]) -> str:
    queue = {"ours": "Holdfast", "ours_outside": "Holdfast, outside", "saq": "SAQ"}.get(
        reported["queue"], "Procrastinate"
    )
    where = {"postgres": "PostgreSQL", "redis": "Redis"}[reported["store"]]
    rest = f"{reported['seconds to rest']:g} s" if not reported["stuck"] else "never"
    kills = f"{reported['kills']} / {reported['restarts']}"
    cells = (f"{queue}, {where}", reported["seed"], reported["accepted"], kills, reported["lost"],
             reported["duplicated"], reported["stuck"], rest)  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
