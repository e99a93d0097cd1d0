"""The order of writing processes. A `flock` on another file descriptor represents another process."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.stores.sqlite.wakeups.hint_log import wake_file
from holdfast.stores.sqlite.writing.process_write_lock import ProcessWriteLock

TIMEOUT = 60.0


@pytest.fixture
def write_lock(tmp_path: Path) -> Generator[ProcessWriteLock]:
    with closing(ProcessWriteLock(tmp_path / "jobs.db")) as write_lock:
        yield write_lock


@pytest.fixture
def connection(tmp_path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "jobs.db", timeout=0, isolation_level=None)) as connection:
        yield connection


def test_a_stopped_process_with_the_flock_does_not_block_the_others(
    tmp_path: Path, write_lock: ProcessWriteLock, connection: sqlite3.Connection
) -> None:
    with wake_file(tmp_path / "jobs.db").open("r+b") as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        before = time.monotonic()

        write_lock.begin(connection, TIMEOUT)

        assert time.monotonic() - before < TIMEOUT / 2
        assert connection.in_transaction


def test_a_process_waits_for_the_flock_before_it_tries_the_lock_of_sqlite(
    tmp_path: Path, write_lock: ProcessWriteLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep, released, tries = threading.Event(), threading.Event(), list[bool]()

    def fall_asleep(_: float) -> None:
        asleep.set()

    monkeypatch.setattr(time, "sleep", fall_asleep)
    monkeypatch.setattr(write_lock, "_flock_timeout", TIMEOUT)
    with wake_file(tmp_path / "jobs.db").open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(
            target=write_lock.retry_while_busy, args=(lambda: tries.append(released.is_set()), TIMEOUT), daemon=True
        )
        waiting.start()
        assert asleep.wait(TIMEOUT)
        released.set()
        fcntl.flock(other, fcntl.LOCK_UN)
        waiting.join(TIMEOUT)

    assert tries == [True]


def test_a_timeout_is_reported_even_if_the_flock_was_never_acquired(
    tmp_path: Path, write_lock: ProcessWriteLock, connection: sqlite3.Connection
) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)) as holder,
        wake_file(tmp_path / "jobs.db").open("r+b") as stopped,
    ):
        holder.execute("begin immediate")
        fcntl.flock(stopped, fcntl.LOCK_EX)

        with pytest.raises(sqlite3.OperationalError, match="locked"):
            write_lock.begin(connection, 0.01)


def test_a_flock_that_timed_out_is_skipped_until_it_is_free(
    tmp_path: Path, write_lock: ProcessWriteLock, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    with wake_file(tmp_path / "jobs.db").open("r+b") as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        write_lock.begin(connection, TIMEOUT)
        connection.execute("rollback")
        monkeypatch.setattr(time, "sleep", pauses.append)

        write_lock.begin(connection, TIMEOUT)

        assert pauses == []
        connection.execute("rollback")
        fcntl.flock(stopped, fcntl.LOCK_UN)
        write_lock.begin(connection, TIMEOUT)
        connection.execute("rollback")
        fcntl.flock(stopped, fcntl.LOCK_EX)
        write_lock.begin(connection, TIMEOUT)
        assert pauses != []


def test_an_interrupt_during_the_flock_releases_it(
    tmp_path: Path, write_lock: ProcessWriteLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def interrupted(fd: int, operation: int) -> None:
        flock(fd, operation)
        if operation & fcntl.LOCK_EX:
            raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_lock.retry_while_busy(lambda: None, TIMEOUT)

    with wake_file(tmp_path / "jobs.db").open("r+b") as other:
        flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
