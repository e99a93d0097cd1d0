"""Come back when something is so that only the server knows. No event tells of it, so the server is asked again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg

_BLOCKED = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'holdfast'"


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    pause = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline
        pause.wait(0.01)


def wait_until_blocked(connection: psycopg.Connection, is_over: Callable[[], bool]) -> None:
    """Come back when a session of ours waits for somebody's lock."""

    def is_blocked() -> bool:
        assert not is_over(), "it did not have to wait"
        return connection.execute(_BLOCKED).fetchone() != (0,)

    wait_until(is_blocked)
