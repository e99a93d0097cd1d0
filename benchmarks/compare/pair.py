"""Two processes, one for each commit, that take turns."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.compare.storages import NewStorage

CHILD = Path(__file__).with_name("child.py")
MEASUREMENTS = ("single", "batch", "drain")
SINGLE_PART = 10
"""A single start takes many times as long as a job of a batch, so there are fewer of them."""
WARM_UP = 700


@dataclass(frozen=True)
class Turn:
    """What one measurement took per job, in microseconds."""

    measurement: str
    elapsed: float
    process: float
    """CPU time of the process."""
    server: float
    """CPU time of the server; zero if the store has none."""


class Pair:
    def __init__(self, trees: tuple[Path, Path], storage: NewStorage) -> None:
        self._trees = trees
        self._storage = storage
        self._children: list[subprocess.Popen[str]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for tree in self._trees:
            child = subprocess.Popen(
                [sys.executable, str(CHILD), self._storage.address()],
                env={**os.environ, "PYTHONPATH": str(tree / "src")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._stack.enter_context(child)
            self._children.append(child)
            for measurement, count in _counts(WARM_UP).items():
                self._measure(child, measurement, count)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def take_turns(self, jobs: int, *, later_first: bool) -> list[tuple[Turn, Turn]]:
        """One measurement of each kind, of the first and of the second tree."""
        turns: list[tuple[Turn, Turn]] = []
        for measurement, count in _counts(jobs).items():
            order = reversed(self._children) if later_first else self._children
            found = [self._measure(child, measurement, count) for child in order]
            turns.append((found[1], found[0]) if later_first else (found[0], found[1]))
        return turns

    def _measure(self, child: subprocess.Popen[str], measurement: str, count: int) -> Turn:
        assert child.stdin is not None
        assert child.stdout is not None
        before = _server_times(self._storage.server)
        child.stdin.write(f"{measurement} {count}\n")
        child.stdin.flush()
        elapsed, process = (float(seconds) * 1e6 / count for seconds in child.stdout.readline().split())
        after = _server_times(self._storage.server)
        server = sum(took - before.get(pid, 0.0) for pid, took in after.items()) * 1e6 / count
        return Turn(measurement, elapsed, process, server)


def _counts(jobs: int) -> dict[str, int]:
    """How many jobs each measurement has. The drain has those of both starts."""
    single = jobs // SINGLE_PART
    return {"single": single, "batch": jobs, "drain": jobs + single}


def _server_times(pid: int | None) -> dict[int, float]:
    """Seconds of CPU time of a process and its children."""
    if pid is None:
        return {}
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    times: dict[int, float] = {}
    for each in (pid, *map(int, children)):
        with suppress(FileNotFoundError, ProcessLookupError):
            times[each] = int(Path(f"/proc/{each}/schedstat").read_text().split()[0]) / 1e9
    return times
