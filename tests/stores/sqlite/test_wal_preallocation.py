"""Preallocation of the write-ahead log."""

from __future__ import annotations

import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.engine.operations import GetStats, Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.wal import wal
from holdfast.stores.sqlite.wal.wal import PREALLOCATE_AFTER
from holdfast.stores.sqlite.wal.wal_preallocation import LENGTH, preallocate
from holdfast.testing.builders import new_job


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def test_the_log_is_preallocated_after_some_commits_and_not_before(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    for _ in range(PREALLOCATE_AFTER - 1):
        store.perform_sync(Start((new_job(),)))
    before = log_of(path).stat().st_size

    store.perform_sync(Start((new_job(),)))

    assert before < LENGTH == log_of(path).stat().st_size
    store.close_sync()


def test_the_log_is_not_preallocated_with_synchronous_normal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "PAGES", 1)  # a checkpoint is due after each commit
    store = SqliteStore(f"sqlite:///{path}?synchronous=normal")
    store.open_sync()

    for _ in range(2 * PREALLOCATE_AFTER):
        store.perform_sync(Start((new_job(),)))

    assert log_of(path).stat().st_size < LENGTH
    store.close_sync()


def test_after_a_crash_the_file_contains_exactly_the_commits(path: Path, store: SqliteStore, tmp_path: Path) -> None:
    for _ in range(3 * PREALLOCATE_AFTER):
        store.perform_sync(Start((new_job(),)))
    crashed = tmp_path / "crashed.db"
    shutil.copy(path, crashed)
    shutil.copy(log_of(path), log_of(crashed))

    recovered = SqliteStore(f"sqlite:///{crashed}")
    recovered.open_sync()

    assert recovered.perform_sync(GetStats()) == store.perform_sync(GetStats())
    recovered.perform_sync(Start((new_job(),)))
    recovered.close_sync()
    with closing(sqlite3.connect(crashed)) as connection:
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("select count(*) from holdfast_job").fetchall() == [(3 * PREALLOCATE_AFTER + 1,)]


def test_a_log_without_commits_can_be_preallocated(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table t (x)")
        connection.execute("pragma wal_checkpoint(truncate)")

        preallocate(connection, path)
        shutil.copy(path, path.with_name("crashed.db"))
        shutil.copy(log_of(path), path.with_name("crashed.db-wal"))

    with closing(sqlite3.connect(path.with_name("crashed.db"))) as crashed:
        assert crashed.execute("select * from t").fetchall() == []
        crashed.execute("insert into t values (1)")
        assert crashed.execute("select * from t").fetchall() == [(1,)]


def test_the_log_is_not_preallocated_while_another_connection_writes(path: Path, store: SqliteStore) -> None:
    store.perform_sync(Start((new_job(),)))
    tx = store.begin_sync()
    tx.perform(Start((new_job(),)))

    with (
        closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        preallocate(other, path)

    tx.rollback()
    assert log_of(path).stat().st_size < LENGTH


def test_a_log_that_does_not_fit_on_the_disk_keeps_its_length(path: Path, store: SqliteStore) -> None:
    store.perform_sync(Start((new_job(),)))
    before = log_of(path).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LENGTH // 2, hard))
        try:
            with pytest.raises(OSError, match="too large"):
                preallocate(writer, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert log_of(path).stat().st_size == before
    store.perform_sync(Start((new_job(),)))
