"""The load: producers and workers as processes of their own, half of them through HAProxy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ha.cluster import Cluster
from ha.processes import end

WAYS = ("haproxy", "hosts")
"""How a process finds the primary: through HAProxy, or from the list of hosts in its address."""


class Acknowledged(NamedTuple):
    """A start that a producer got an answer to."""

    job: str
    at: float


@dataclass(frozen=True, slots=True)
class Load:
    folder: Path
    producers: dict[str, subprocess.Popen[bytes]]

    def acknowledged(self, way: str) -> list[Acknowledged]:
        """The acknowledged starts of the producer. The last line may be incomplete while the producer runs."""
        file = self.folder / f"{way}.txt"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        return [Acknowledged(job, float(at)) for job, at in (line.split() for line in lines)]

    def stop_producers(self) -> None:
        for producer in self.producers.values():
            end(producer)


@contextmanager
def running_load(cluster: Cluster, folder: Path) -> Generator[Load]:
    """A producer and a worker for each way, until the end of the block."""
    folder.mkdir()
    addresses = dict(zip(WAYS, (cluster.proxy_address, cluster.hosts_address), strict=True))
    workers = [_spawn(_worker(addresses[way]), folder, f"worker-{way}") for way in WAYS]
    producers = {
        way: _spawn(
            [sys.executable, "-m", "ha.producer", addresses[way], str(folder / f"{way}.txt")], folder, f"producer-{way}"
        )
        for way in WAYS
    }
    try:
        yield Load(folder, producers)
    finally:
        for process in (*producers.values(), *workers):
            end(process, signal.SIGTERM)


def _worker(address: str) -> list[str]:
    return [str(Path(sys.executable).with_name("holdfast")), "worker", "ha.jobs:jobs", "--store", address]


def _spawn(command: list[str], folder: Path, name: str) -> subprocess.Popen[bytes]:
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})
