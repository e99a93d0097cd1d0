"""Where a store's file may be, how it is created, and the error if it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from holdfast.engine.operations import Examine, GetJobs, GetStats, Start
from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.connection import file_checks
from holdfast.testing.builders import new_job


def opened(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    store.close_sync()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_files_are_private_to_their_owner(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    store.perform_sync(Start((new_job(),)))
    files = {file.name: mode(file) for file in path.parent.iterdir()}
    store.close_sync()

    assert files == dict.fromkeys(("jobs.db", "jobs.db-wal", "jobs.db-shm", "jobs.db-wake"), 0o600)


def test_closing_checkpoints_and_removes_the_log(path: Path) -> None:
    opened(path)

    assert {file.name for file in path.parent.iterdir()} == {"jobs.db", "jobs.db-wake"}


def test_an_existing_database_of_the_application_is_used_and_keeps_its_mode(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table orders (id)")
    connection.close()
    path.chmod(0o640)

    opened(path)

    assert mode(path) == 0o640
    with sqlite3.connect(path) as connection:
        assert connection.execute("select * from orders").fetchall() == []
    connection.close()


def test_a_symbolic_link_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "real.db").touch()
    path.symlink_to(tmp_path / "real.db")

    with pytest.raises(ValueError, match="symbolic link"):
        opened(path)


def test_a_symbolic_link_to_the_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")

    opened(tmp_path / "link" / "jobs.db")

    assert (tmp_path / "data" / "jobs.db").exists()


def test_a_path_that_is_not_a_regular_file_is_refused(path: Path) -> None:
    os.mkfifo(path)

    with pytest.raises(ValueError, match="not a regular file"):
        opened(path)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere; make the folder first"):
        opened(tmp_path / "nowhere" / "jobs.db")


def test_a_file_that_is_not_a_database_is_refused(path: Path) -> None:
    path.write_bytes(b"a letter to my aunt" * 100)

    with pytest.raises(StoreUnavailable, match="not a SQLite database"):
        opened(path)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("create table holdfast_job (id)", "table holdfast_job already exists"),
        ("create table holdfast_migration (version)", "no such column: name"),
    ],
)
def test_other_tables_with_our_names_are_refused(path: Path, statement: str, reason: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()

    with pytest.raises(ValueError, match=f"has tables named holdfast_.* that Holdfast did not make .{reason}"):
        opened(path)


@pytest.mark.parametrize(
    ("statement", "lacking"),
    [
        ("alter table holdfast_attempt drop column next_at", "holdfast_attempt.next_at"),
        ("drop table holdfast_hint", "holdfast_hint"),
    ],
)
def test_a_file_with_missing_columns_is_refused(path: Path, statement: str, lacking: str) -> None:
    opened(path)
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()

    with pytest.raises(ValueError, match=f"lacks {lacking}"):
        opened(path)


def test_additional_columns_of_a_later_release_are_accepted(path: Path) -> None:
    opened(path)
    with sqlite3.connect(path) as connection:
        connection.execute("alter table holdfast_attempt add column mood text")
        connection.execute("insert into holdfast_migration values ('9999_moods', 0)")
    connection.close()

    opened(path)


def test_a_damaged_file_is_reported(path: Path, store: SqliteStore) -> None:
    store.perform_sync(Start(tuple(new_job(input=b"x" * 2000) for _ in range(100))))
    store.close_sync()
    data = path.read_bytes()
    path.write_bytes(data[:-40_000] + b"\xff" * 40_000)
    store.open_sync()

    findings = {finding.subject: finding.level for finding in store.perform_sync(Examine())}

    assert findings["integrity"] == "error"


def test_a_full_disk_is_reported_as_unavailable_and_loses_nothing(store: SqliteStore) -> None:
    [kept] = store.perform_sync(Start((new_job(),)))
    writer = store._parts.writer._writing.connection  # type: ignore[union-attr] # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
    assert writer is not None
    [(pages,)] = writer.execute("pragma page_count").fetchall()
    writer.execute(f"pragma max_page_count={pages}").fetchall()

    with pytest.raises(StoreUnavailable, match="the disk is full"):
        store.perform_sync(Start(tuple(new_job(input=b"x" * 10_000) for _ in range(100))))

    assert [stats.counts for stats in store.perform_sync(GetStats())] == [{"pending": 1}]
    assert store.perform_sync(GetJobs((kept.chain.first.id,))) == [kept.chain.first]
    store.perform_sync(Start((new_job(),)))


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 0:21 / / rw shared:1 - ext4 /dev/root rw\n"
        f"99 22 0:50 / {tmp_path}/far\\040away rw - nfs4 server:/jobs rw\n"
        f"98 22 0:51 / {tmp_path}/ssh rw - fuse.sshfs server:/jobs rw\n"
        f"97 22 0:52 / {tmp_path}/near rw - fuse.overlay none rw\n"
    )
    for name in ("far away", "ssh", "near"):
        (tmp_path / name).mkdir()

    kinds = {name: file_checks.network_file_system(tmp_path / name, mounts) for name in ("far away", "ssh", "near", "")}

    assert kinds == {"far away": "nfs4", "ssh": "fuse.sshfs", "near": None, "": None}
    monkeypatch.setattr(file_checks, "network_file_system", lambda directory: "nfs4")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(ValueError, match=r"network file system \(nfs4\)"):
        opened(tmp_path / "jobs.db")


def test_a_store_that_is_not_open_is_refused_with_advice(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")

    with pytest.raises(RuntimeError, match="is not open"):
        store.perform_sync(GetStats())


def test_a_store_may_be_opened_twice_and_again_after_a_close(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    store.open_sync()
    store.perform_sync(Start((new_job(),)))
    store.close_sync()
    store.close_sync()
    store.open_sync()

    assert store.migrate_sync() == []
    assert len(store.perform_sync(GetStats())) == 1
    store.close_sync()


def test_closing_leaves_no_thread_behind(path: Path) -> None:
    before = {*threading.enumerate()}
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    store.wakeups.subscribe(lambda hints: None)
    store.perform_sync(Start((new_job(),)))

    store.close_sync()

    assert {*threading.enumerate()} <= before
