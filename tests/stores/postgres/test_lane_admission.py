"""Admissions of the tracks of new jobs, several at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import psycopg
import pytest

from holdfast.engine.operations import Start
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.rows import SQL
from holdfast.testing.lanes import laned, limit
from tests.servers.postgres import Postgres
from tests.stores.postgres.query_plans import rows_of
from tests.waiting import wait_until


class Tracks(NamedTuple):
    """Four tracks, in the order of their ids."""

    store: PostgresStore
    connection: psycopg.Connection
    entries: list[tuple[str, str]]
    """The track and the details of a new job."""

    def start(self, *numbers: int) -> None:
        """Record new jobs of these tracks for the next admission."""
        tracks, details = zip(*(self.entries[number] for number in numbers), strict=True)
        change = f'insert into "{self.store.schema}".lane_change (tracks, details, size) values (%s, %s, %s)'
        self.connection.execute(change.encode(), [list(tracks), list(details), len(numbers)])

    def add(self, connection: psycopg.Connection, number: int, *, ready_at: int = 0) -> None:
        track = f"""insert into "{self.store.schema}".track (track, type, priority, fair, lanes, turn, ready_at)
                    values (%s, 'resize', 0, '', '[]', 1, %s)"""
        connection.execute(track.encode(), [self.entries[number][0], ready_at])

    def lock(self, connection: psycopg.Connection, number: int) -> None:
        lock = f'select from "{self.store.schema}".track where track = %s for update'
        connection.execute(lock.encode(), [self.entries[number][0]])

    def admit(self, connection: psycopg.Connection) -> None:
        rows_of(self.store, connection, SQL["lanes_admit"], {"limit": 1000})


@pytest.fixture
def tracks(store: PostgresStore, connection: psycopg.Connection) -> Tracks:
    store.perform_sync(Start(tuple(laned(limit(key=str(key))) for key in range(4))))
    taken = f'delete from "{store.schema}".lane_change returning tracks, details'
    found = connection.execute(taken.encode()).fetchall()
    return Tracks(store, connection, sorted((row[0][at], row[1][at]) for row in found for at in range(len(row[0]))))


def test_two_admissions_do_not_deadlock_if_a_track_exists_for_one_of_them_only(
    tracks: Tracks, server: Postgres, connection: psycopg.Connection
) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        older, newer, first, third = [stack.enter_context(server.connect()) for _ in range(4)]

        def wait_until_blocked(waiting: psycopg.Connection, by: psycopg.Connection) -> None:
            blocked = "select %s = any(pg_blocking_pids(%s))"
            pids = [by.info.backend_pid, waiting.info.backend_pid]
            wait_until(lambda: connection.execute(blocked, pids).fetchone() == (True,))

        tracks.add(connection, 0)
        first.execute("begin")
        tracks.lock(first, 0)
        tracks.start(0, 1, 2, 3)
        one = pool.submit(tracks.admit, older)
        wait_until_blocked(older, by=first)
        tracks.add(connection, 3, ready_at=2**60)  # only the newer admission sees it, and must write it
        third.execute("begin")
        tracks.add(third, 2)
        first.execute("rollback")
        wait_until_blocked(older, by=third)  # it has added the second track
        tracks.start(1, 3)
        other = pool.submit(tracks.admit, newer)
        wait_until_blocked(newer, by=older)
        third.execute("rollback")

        one.result(60)
        other.result(60)

    rows = connection.execute(f'select ready_at from "{tracks.store.schema}".track'.encode()).fetchall()
    assert rows == [(0,)] * 4
