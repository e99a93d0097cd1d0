"""Who writes next, between processes. A lock of another opening of the file stands for another process."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.stores.sqlite.wakeups.file_watch import wake_file
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


def test_a_process_that_is_frozen_at_the_front_holds_nobody_up(
    tmp_path: Path, write_lock: ProcessWriteLock, connection: sqlite3.Connection
) -> None:
    with wake_file(tmp_path / "jobs.db").open("r+b") as frozen:
        fcntl.flock(frozen, fcntl.LOCK_EX)
        before = time.monotonic()

        write_lock.begin(connection, TIMEOUT)

        assert time.monotonic() - before < TIMEOUT / 2
        assert connection.in_transaction


def test_the_others_leave_the_lock_to_the_one_at_the_front_for_a_while(
    tmp_path: Path, write_lock: ProcessWriteLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep, released, tries = threading.Event(), threading.Event(), list[bool]()

    def fall_asleep(_: float) -> None:
        asleep.set()

    monkeypatch.setattr(time, "sleep", fall_asleep)
    monkeypatch.setattr(write_lock, "_flock_timeout", TIMEOUT)
    with wake_file(tmp_path / "jobs.db").open("r+b") as front:
        fcntl.flock(front, fcntl.LOCK_EX)
        waiting = threading.Thread(
            target=write_lock.retry_while_busy, args=(lambda: tries.append(released.is_set()), TIMEOUT), daemon=True
        )
        waiting.start()
        assert asleep.wait(TIMEOUT)
        released.set()
        fcntl.flock(front, fcntl.LOCK_UN)
        waiting.join(TIMEOUT)

    assert tries == [True]


def test_a_lock_that_is_held_for_too_long_is_reported_though_the_front_was_never_reached(
    tmp_path: Path, write_lock: ProcessWriteLock, connection: sqlite3.Connection
) -> None:
    with (
        closing(sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)) as holder,
        wake_file(tmp_path / "jobs.db").open("r+b") as frozen,
    ):
        holder.execute("begin immediate")
        fcntl.flock(frozen, fcntl.LOCK_EX)

        with pytest.raises(sqlite3.OperationalError, match="locked"):
            write_lock.begin(connection, 0.01)


def test_one_frozen_at_the_front_is_waited_for_once(
    tmp_path: Path, write_lock: ProcessWriteLock, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps: list[float] = []
    with wake_file(tmp_path / "jobs.db").open("r+b") as frozen:
        fcntl.flock(frozen, fcntl.LOCK_EX)
        write_lock.begin(connection, TIMEOUT)
        connection.execute("rollback")
        monkeypatch.setattr(time, "sleep", naps.append)

        write_lock.begin(connection, TIMEOUT)

        assert naps == []
        connection.execute("rollback")
        fcntl.flock(frozen, fcntl.LOCK_UN)
        write_lock.begin(connection, TIMEOUT)
        connection.execute("rollback")
        fcntl.flock(frozen, fcntl.LOCK_EX)
        write_lock.begin(connection, TIMEOUT)
        assert naps != []


def test_an_interrupt_as_the_front_is_reached_leaves_it_to_others(
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
