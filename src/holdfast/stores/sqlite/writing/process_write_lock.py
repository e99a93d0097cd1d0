"""The order in which processes write to a file.

The waiting of SQLite itself is unfair. With sixteen processes that write without pause, one of them got a single commit
in four seconds. Therefore only one process at a time tries for the write lock of SQLite: the process that holds a
`flock` on the wake file. A process that has just committed finds the `flock` taken and waits. The longest wait fell
from four seconds to 0.3 seconds (decision 5).

The `flock` is for fairness only. Correctness depends on the lock of SQLite, which other programs and the application's
own connections take without the `flock`. The process that holds the `flock` may be stopped, or one of its threads may
hold the interpreter lock. Therefore the other processes wait for the `flock` only for a short time. Then they try for
the lock of SQLite without it.
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
from holdfast.stores.sqlite.wakeups.hint_log import wake_file

if sys.platform != "win32":
    import fcntl

R = TypeVar("R")

_SHORTEST = 0.0005
_LONGEST = 0.004
"""Pauses between two tries without the `flock`, in seconds."""

_PAUSE_WITH_FLOCK = 0.0002
"""The pause of the process that holds the `flock`, in seconds."""

_FLOCK_TIMEOUT = 0.25
"""Seconds for which a process waits for the `flock`: longer than a queue of many processes takes.
After a timeout, skip the `flock` until it is free again."""


class ProcessWriteLock:
    """Runs actions that need the write lock of SQLite, one process after the other. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._fd = os.open(wake_file(path), flags, 0o600)
        self._lock = threading.Lock()
        """Held while the descriptor is used: after a close, its number may belong to another file."""
        self._flock_timeout = _FLOCK_TIMEOUT if sys.platform != "win32" else 0.0

    def close(self) -> None:
        """Close the file. A thread that still waits continues without the `flock`."""
        with self._lock:
            fd, self._fd = self._fd, -1
        os.close(fd)

    def begin(
        self, connection: sqlite3.Connection, timeout: float, before_wait: Callable[[], object] | None = None
    ) -> None:
        """Begin a transaction that writes. Raises the busy error of sqlite3 after the timeout."""
        self.retry_while_busy(lambda: connection.execute("begin immediate"), timeout, before_wait)

    def retry_while_busy(
        self, action: Callable[[], R], timeout: float, before_wait: Callable[[], object] | None = None
    ) -> R:
        """Repeat an action that fails while another connection has the write lock, until it succeeds or times out.

        `before_wait` is called before each pause.
        """
        begun = time.monotonic()
        locked, pause = False, _SHORTEST
        try:
            while True:
                locked = locked or self._try_flock()
                waited = time.monotonic() - begun
                if locked or waited >= min(self._flock_timeout, timeout):
                    try:
                        result = action()
                    except sqlite3.OperationalError as error:
                        if not is_busy(error) or waited > timeout:
                            raise
                    else:
                        self._flock_timeout = _FLOCK_TIMEOUT if locked else 0.0
                        return result
                if before_wait is not None:
                    before_wait()
                time.sleep(_PAUSE_WITH_FLOCK if locked else pause * random.uniform(0.5, 1.5))
                pause = min(pause * 1.3, _LONGEST)
        finally:
            # Also if `locked` is False: an exception may have come between the flock and the assignment.
            if sys.platform != "win32":
                with self._lock:
                    # Not `suppress`, which is Python code that an exception of a signal handler can interrupt.
                    try:  # noqa: SIM105
                        fcntl.flock(self._fd, fcntl.LOCK_UN)
                    except (OSError, ValueError):
                        pass

    def _try_flock(self) -> bool:
        """Whether this process has the `flock` now. On a file system without such locks, no process waits for it."""
        if sys.platform != "win32":
            try:
                with self._lock:
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False
            except (OSError, ValueError):  # a file system without such locks, or the file is closed
                self._flock_timeout = 0.0
        return False
