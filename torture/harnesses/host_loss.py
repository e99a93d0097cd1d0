"""A worker's host disappears inside `complete()`: the server receives neither bytes nor FIN nor reset from it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import psycopg

from torture.harnesses import open_handles
from torture.proxy import Pair, Proxy

Rows = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query at the server."""

LOOKING = 5.0
"""Seconds to search for an attempt with an open transaction."""
AWAY = 20.0
"""Seconds after which the host's connections are closed even if its transaction is still open. Its jobs must be reaped
earlier."""

_INSIDE = (
    "select client_port from pg_stat_activity"
    " where application_name like 'holdfast attempt %' and state = 'idle in transaction'"
)


def lose_host(proxy: Proxy, rows: Rows) -> bool:
    """Kill a worker inside the transaction of an attempt, and keep its sessions at the server open.

    They are closed when that transaction has ended, or after `AWAY`. True if such a worker was found.
    """
    deadline = time.monotonic() + LOOKING
    while time.monotonic() < deadline:
        for (port,) in rows(_INSIDE):
            near = proxy.client_of(port)
            pid = None if near is None else open_handles.owner(near, proxy.port)
            if pid is not None and not open_handles.is_stopped(pid) and _lose(pid, port, proxy, rows):
                return True
        time.sleep(0.02)
    return False


def _lose(pid: int, port: int, proxy: Proxy, rows: Rows) -> bool:
    os.kill(pid, SIGSTOP)
    try:
        if not _is_inside(port, rows):
            return False
        lost = proxy.lose(open_handles.ports(pid, proxy.port))
        os.kill(pid, SIGKILL)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, SIGCONT)
    threading.Thread(target=_release, args=(lost, port, proxy, rows), daemon=True).start()
    return True


def _release(lost: set[Pair], port: int, proxy: Proxy, rows: Rows) -> None:
    """Close the sessions of the host when its transaction has ended."""
    until = time.monotonic() + AWAY
    inside = True
    while inside and time.monotonic() < until:
        time.sleep(0.05)
        with suppress(psycopg.OperationalError):  # the server restarts
            inside = _is_inside(port, rows)
    proxy.release(lost)


def _is_inside(port: int, rows: Rows) -> bool:
    return (port,) in rows(_INSIDE)
