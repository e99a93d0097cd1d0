"""What a Redis server loses when it dies under load, per setting: ``python -m benchmarks.durability``.

Four threads start chains one at a time; then the server is killed with SIGKILL and started again, or its replica is
promoted. A chain is lost if its start had returned and the chain does not exist afterwards. The system survives, so
what the server had written is kept whether it was synced or not: what a power failure loses is not measured here.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from holdfast import Jobs, SyncClient
from holdfast.errors import StoreUnavailable
from tests.servers.redis import RedisServer, binary, run_redis, until

THREADS = 4
NAMESPACE = "durability"

jobs = Jobs()


@jobs.job
def add(a: int, b: int) -> int:
    return a + b


@dataclass(slots=True)
class Loss:
    """How many starts were acknowledged, and how many of them are lost."""

    acknowledged: int = 0
    lost: int = 0
    seconds: float = 0.0
    per_run: list[int] = field(default_factory=list[int])

    def add(self, acknowledged: int, lost: int, seconds: float) -> None:
        self.acknowledged += acknowledged
        self.lost += lost
        self.seconds += seconds
        self.per_run.append(lost)


class Load:
    """Threads that start chains and remember those whose start returned."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.acknowledged: list[str] = []
        self._threads = [threading.Thread(target=self._start_until_it_fails) for _ in range(THREADS)]

    def run(self, seconds: float, end: Callable[[], None]) -> float:
        begun = time.perf_counter()
        for thread in self._threads:
            thread.start()
        time.sleep(seconds)
        end()
        length = time.perf_counter() - begun
        for thread in self._threads:
            thread.join()
        return length

    def _start_until_it_fails(self) -> None:
        with SyncClient(self._address, jobs) as client:
            try:
                while True:
                    self.acknowledged.append(client.start(add.bind(1, 2)).id)
            except StoreUnavailable:
                return


def missing(server: RedisServer, chains: list[str]) -> int:
    with server.connect() as client:
        pipeline = client.pipeline(transaction=False)
        for chain in chains:
            pipeline.exists(f"{{{NAMESPACE}}}:j:{chain}")
        return sum(not there for there in pipeline.execute())


def killed(loss: Loss, seconds: float, *, appendonly: str = "no", appendfsync: str = "no") -> None:
    """Kill the server and start it again with its data on disk."""
    with run_redis(appendonly=appendonly, appendfsync=appendfsync) as server:
        load = Load(server.address(NAMESPACE, timeout="1"))
        length = load.run(seconds, server.stop)
        server.start()
        loss.add(len(load.acknowledged), missing(server, load.acknowledged), length)


def failed_over(loss: Loss, seconds: float, *, wait: int, lag: bool) -> None:
    """Kill the primary and promote its replica; with `lag`, a replica that was a little behind."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with run_redis(port=port, repl_diskless_sync_delay="0") as primary, run_redis(replicaof=f"127.0.0.1 {port}") as it:
        with it.connect() as client:
            until(lambda: client.info("replication")["master_link_status"] == "up")

            def end() -> None:
                if lag:
                    # The replica is stopped for a moment, as if it were busy: what it was sent stays in its socket.
                    client.execute_command("REPLICAOF", "NO", "ONE")
                    time.sleep(0.3)
                primary.stop()

            load = Load(primary.address(NAMESPACE, timeout="1", wait=str(wait)))
            length = load.run(seconds, end)
            client.execute_command("REPLICAOF", "NO", "ONE")
        loss.add(len(load.acknowledged), missing(it, load.acknowledged), length)


def scenarios() -> dict[str, Callable[[Loss, float], None]]:
    return {
        "none: no persistence, killed": lambda loss, seconds: killed(loss, seconds),
        "everysec: killed": lambda loss, seconds: killed(loss, seconds, appendonly="yes", appendfsync="everysec"),
        "always: killed": lambda loss, seconds: killed(loss, seconds, appendonly="yes", appendfsync="always"),
        "failover": lambda loss, seconds: failed_over(loss, seconds, wait=0, lag=False),
        "failover, the replica 0.3 s behind": lambda loss, seconds: failed_over(loss, seconds, wait=0, lag=True),
        "the same with wait=1": lambda loss, seconds: failed_over(loss, seconds, wait=1, lag=True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load before the end, per run")
    options = parser.parse_args()
    facts = ", ".join(f"{name} {fact}" for name, fact in machine().items())
    table = Table(title=f"{_version()}; {options.runs} runs of {options.seconds} s each\n{facts}")
    for heading in ("setting", "acknowledged", "lost", "lost per run", "starts /s"):
        table.add_column(heading, justify="left" if heading == "setting" else "right")
    for name, run in scenarios().items():
        loss = Loss()
        for _ in range(options.runs):
            run(loss, options.seconds)
        rate = loss.acknowledged / loss.seconds
        per_run = f"{min(loss.per_run):,} to {max(loss.per_run):,}"
        table.add_row(name, f"{loss.acknowledged:,}", f"{loss.lost:,}", per_run, f"{rate:,.0f}")
    Console(width=140).print(table)


def _version() -> str:
    reported = subprocess.run([str(binary()), "--version"], check=True, capture_output=True, text=True).stdout
    return " ".join(reported.split()[:3])


if __name__ == "__main__":
    main()
