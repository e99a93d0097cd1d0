"""A file that another process writes, and a watch of it."""

from __future__ import annotations

import queue
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast.stores.sqlite.wakeups.file_watch import FileWatch
from holdfast.stores.sqlite.wakeups.hint_log import HintLog

PROMPTLY = 60.0
"""Seconds: far more than a wake-up needs on a busy machine. A lost wake-up never arrives."""

APPENDING = """
import sys, time
from holdfast.engine.wakeups import ANYTHING
from holdfast.stores.sqlite.wakeups.hint_log import HintLog
log = HintLog(sys.argv[1], "other")
for line in sys.stdin:
    at = time.monotonic_ns()
    for _ in range(int(line)):
        log.append(ANYTHING)
    print(at, flush=True)
"""

COMMITTING = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute(f"pragma journal_mode={sys.argv[2]}")
connection.execute("pragma synchronous=full")
for line in sys.stdin:
    for _ in range(int(line)):
        connection.execute("begin immediate")
        connection.execute("insert into t values (1)")
        connection.execute("commit")
    print(time.monotonic_ns(), flush=True)
"""


class Other:
    """Another process. It performs its action on request and returns the time of the shared clock."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def do(self, times: int = 1) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{times}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def other_process(script: str, *args: str) -> Generator[Other, None, None]:
    command = [sys.executable, "-c", script, *args]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Other(process)


def watch_of(path: Path, calls: queue.Queue[int], *, own: HintLog | None = None) -> FileWatch:
    """A watch that records the times of its calls."""

    def record() -> None:
        calls.put(time.monotonic_ns())

    return FileWatch(path, record, on_notification=record, own=own)


@contextmanager
def watching(path: Path) -> Generator[queue.Queue[int], None, None]:
    calls: queue.Queue[int] = queue.Queue()
    watch = watch_of(path, calls)
    watch.start()
    try:
        yield calls
    finally:
        watch.stop()


def settle(calls: queue.Queue[int], *, quiet: float = 1.5) -> int:
    """Count calls until none has come for some time. The default is longer than a whole schedule of checks."""
    count = 0
    while True:
        try:
            calls.get(timeout=quiet)
        except queue.Empty:
            return count
        count += 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # A name that a file: address must quote.
    path = tmp_path / "a job?s #1 %41.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (x)")
    return path
