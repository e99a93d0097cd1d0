"""Who writes next, between processes.

SQLite's own waiting is unfair: with sixteen processes that write without pause, one of them got a single commit
in four seconds. So only one process at a time tries for SQLite's write lock: the one that holds a `flock` on
the wake file. Whoever has just committed finds that taken and comes after it; the longest wait fell from all four
seconds to a tenth of one. It is a matter of order only: correctness rests on SQLite's lock, which the application's
own connections and other programs take as ever. The one at the front may be frozen there, or its interpreter held by
one of its threads; so nobody trusts the order for long, and then tries for SQLite's lock beside it.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from holdfast.stores.sqlite.errors import is_busy
from holdfast.stores.sqlite.wakeups.file_watch import wake_file

if sys.platform != "win32":
    import fcntl

R = TypeVar("R")

_SHORTEST = 0.0005
_LONGEST = 0.004
"""Pauses between two tries, in seconds."""

_AT_THE_FRONT = 0.0002
"""The pause of the one process that tries for SQLite's lock, in seconds."""

_TRUST = 0.25
"""For how long the others leave SQLite's lock to the one at the front, in seconds: longer than a line of many takes.
Whoever has had to pass it by does not wait for it again, until the front is free."""


class Gate:
    """Runs what needs the write lock, when it is this process's turn. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._fd = os.open(wake_file(path), flags, 0o600)
        self._lock = threading.Lock()
        """Held while the file is used: under the number of a closed one there may be another file, and not ours."""
        self._trust = _TRUST if sys.platform != "win32" else 0.0

    def close(self) -> None:
        """Let go of the file. Whoever is still waiting goes on without the order."""
        with self._lock:
            fd, self._fd = self._fd, -1
        os.close(fd)

    def begin(self, connection: sqlite3.Connection, timeout: float) -> None:
        """Open a transaction that writes. Raises sqlite3's busy error when the lock could not be had in time."""
        self.patiently(lambda: connection.execute("begin immediate"), timeout)

    def patiently(self, action: Callable[[], R], timeout: float) -> R:
        """Do what fails while others hold the write lock, again and again until it works or the time is over."""
        begun = time.monotonic()
        first, pause = False, _SHORTEST
        try:
            while True:
                first = first or self._is_first()
                waited = time.monotonic() - begun
                if first or waited >= min(self._trust, timeout):
                    try:
                        answer = action()
                    except sqlite3.OperationalError as error:
                        if not is_busy(error) or waited > timeout:
                            raise
                    else:
                        self._trust = _TRUST if first else 0.0
                        return answer
                time.sleep(_AT_THE_FRONT if first else pause * random.uniform(0.5, 1.5))
                pause = min(pause * 1.3, _LONGEST)
        finally:
            # Also when this process is not known to be first: an exception may have come before that was noted.
            if sys.platform != "win32":
                with self._lock:
                    # Not `suppress`, which is Python code that an exception of a signal handler can interrupt.
                    try:  # noqa: SIM105
                        fcntl.flock(self._fd, fcntl.LOCK_UN)
                    except (OSError, ValueError):
                        pass

    def _is_first(self) -> bool:
        """Whether this process is at the front now. Where nobody can be, nobody waits for it either."""
        if sys.platform != "win32":
            try:
                with self._lock:
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False
            except (OSError, ValueError):  # a file system without such locks, or closed meanwhile
                self._trust = 0.0
        return False
