"""Waits for a state of the server. The server sends no event for it, so it is polled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import psycopg

from tests.waiting import wait_until

R = TypeVar("R")

_BLOCKED = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'holdfast%'"


def wait_until_blocked(connection: psycopg.Connection, is_done: Callable[[], bool]) -> None:
    """Wait until a session of the store waits for a lock."""

    def is_blocked() -> bool:
        assert not is_done(), "it did not have to wait"
        return connection.execute(_BLOCKED).fetchone() != (0,)

    wait_until(is_blocked)


def waits(connection: psycopg.Connection, action: Callable[[], R], pool: ThreadPoolExecutor) -> Future[R]:
    """Start an action that must wait for a lock, and return when it waits."""
    future = pool.submit(action)
    wait_until_blocked(connection, future.done)
    return future
