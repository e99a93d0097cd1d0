"""Stop a process with SIGSTOP, as a debugger, a suspended machine or a container runtime does."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any


def freeze(process: subprocess.Popen[Any], is_locked: Callable[[], bool] = lambda: False) -> None:
    """Stop the process, and return when it is stopped and holds no lock of the store.

    A process that is stopped inside a write transaction of SQLite keeps all other processes from writing.
    """
    _stop(process)
    while is_locked():
        process.send_signal(signal.SIGCONT)
        _stop(process)


def is_write_locked(path: Path) -> bool:
    """Whether a process is inside a write transaction on this SQLite file."""
    with closing(sqlite3.connect(path, timeout=0.1, isolation_level=None)) as connection:
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:
            return True
        connection.execute("rollback")
    return False


def _stop(process: subprocess.Popen[Any]) -> None:
    # The kernel stops the threads of a process some time after `kill` has returned.
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
