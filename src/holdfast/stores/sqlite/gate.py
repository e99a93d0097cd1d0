"""Who writes next, between processes.

SQLite's own waiting is unfair: with sixteen processes that write without pause, one of them got a single commit
in four seconds. So only one process at a time tries for SQLite's write lock: the one that holds a `flock` on
the wake file. Whoever has just committed finds that taken and comes after it; the longest wait fell from all four
seconds to a tenth of one. It is a matter of order only: correctness rests on SQLite's lock, which the application's
own connections and other programs take as ever.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holdfast.stores.sqlite.translating import is_busy
from holdfast.stores.sqlite.watch import wake_file

if sys.platform != "win32":
    import fcntl

R = TypeVar("R")

_SHORTEST = 0.0005
_LONGEST = 0.004
"""Pauses between two tries, in seconds."""

_AT_THE_FRONT = 0.0002
"""The pause of the one process that tries for SQLite's lock, in seconds."""


class Gate:
    """Runs what needs the write lock, when it is this process's turn. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._fd = os.open(wake_file(path), flags, 0o600)

    def close(self) -> None:
        os.close(self._fd)

    def begin(self, connection: sqlite3.Connection, timeout: float) -> None:
        """Open a transaction that writes. Raises sqlite3's busy error when the lock could not be had in time."""
        self.patiently(lambda: connection.execute("begin immediate"), timeout)

    def patiently(self, action: Callable[[], R], timeout: float) -> R:
        """Do what fails while others hold the write lock, again and again until it works or the time is over."""
        deadline = time.monotonic() + timeout
        first = self._line_up(deadline)
        try:
            while True:
                try:
                    return action()
                except sqlite3.OperationalError as error:
                    if not is_busy(error) or time.monotonic() > deadline:
                        raise
                # One that is not first after all that time tries as well: the first may have been stopped.
                time.sleep(_AT_THE_FRONT if first else _LONGEST)
        finally:
            if first and sys.platform != "win32":
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _line_up(self, deadline: float) -> bool:
        """Wait to be the first of those that wait; False if that never came."""
        if sys.platform == "win32":
            return False
        pause = _SHORTEST
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
            except OSError:  # a file system without such locks
                return False
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 1.3, _LONGEST)
