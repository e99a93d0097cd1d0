"""``python -m torture.peers --peer procrastinate``: ours and a peer through the same kills and restarts."""

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

from torture.peers.effects import MARKS
from torture.zygote import follow_parent

ROOT = Path(__file__).parents[2]
JOBS, PAUSE = 800, 0.04
WORKERS = 3
KILL_EVERY, RESTART_EVERY = 1.0, 9.0
PATIENCE = 180.0
STORES = {"procrastinate": "postgres", "saq": "redis"}


def compare(adapter: str, store: str, seed: int) -> dict[str, Any]:
    """Run the workload on one queue; answers what was accepted, and what became of it."""
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
        kills = restarts = 0
        next_kill, next_restart = time.monotonic() + KILL_EVERY, time.monotonic() + RESTART_EVERY
        while producing.is_alive():
            time.sleep(0.05)
            _replace(adapter, url, workers)
            if time.monotonic() >= next_kill:
                next_kill += rng.uniform(0.5, 1.5) * KILL_EVERY
                rng.choice(workers).kill()
                kills += 1
            if time.monotonic() >= next_restart:
                next_restart += RESTART_EVERY
                server.restart(SIGQUIT if store == "postgres" else SIGKILL)
                restarts += 1
        healed = time.monotonic()
        left = 1
        while left and time.monotonic() < healed + PATIENCE:
            time.sleep(0.5)
            _replace(adapter, url, workers)
            left = asyncio.run(queue.unfinished(url))
        rest = time.monotonic() - healed
        marks = Counter(_marks(server, store))
    unmarked = [number for number in accepted if not marks[number]]
    return {
        "queue": adapter, "store": store, "accepted": len(accepted), "kills": kills, "restarts": restarts,
        "unfinished": left, "accepted without effect": len(unmarked),
        "effects more than once": sum(times > 1 for times in marks.values()), "seconds to rest": round(rest, 1),
    }  # fmt: skip


def _server(stack: ExitStack, store: str) -> tuple[Any, str]:
    if store == "postgres":
        from tests.servers.postgres import running_postgres

        server: Any = stack.enter_context(running_postgres(fsync="on"))
        with server.connect() as connection:
            connection.execute(f"create table {MARKS} (number bigint)")
        return server, f"postgresql://postgres@127.0.0.1:{server.port}/postgres"
    from tests.servers.redis import run_redis
    from torture.grounds.redis import free_port

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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", choices=["ours", *STORES], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work is not None:
        asyncio.run(import_module(f"torture.peers.{options.work}").work(options.url))
        return 0
    for adapter in ("ours", options.peer):
        sys.stdout.write(json.dumps(compare(adapter, STORES[options.peer], options.seed)) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
