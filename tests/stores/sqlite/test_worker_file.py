"""The worker file: reports of workers wake no other process, and wait for no transaction."""

from __future__ import annotations

import select
import stat
from pathlib import Path

import pytest

from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import DrainWorker, GetWorkers, RemoveWorker, ReportWorker, Start
from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.wakeups.inotify import FileEvents
from holdfast.testing.builders import new_job

WORKER = WorkerRecord("one", "server", 1, ("resize",), 10)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(f"sqlite:///{tmp_path}/jobs.db")


def _ids(store: SqliteStore) -> list[str]:
    return [worker.id for worker in store.perform_sync(GetWorkers())]


def test_a_report_causes_no_file_event_and_a_commit_does(store: SqliteStore, tmp_path: Path) -> None:
    store.open_sync()
    began = store.perform_sync(ReportWorker(WORKER)).started_at  # creates the file, which the watch sees and ignores
    names = ["jobs.db", "jobs.db-wal", "jobs.db-journal", "jobs.db-wake"]
    events = FileEvents(tmp_path, names)
    poll = select.poll()
    poll.register(events.fileno(), select.POLLIN)
    try:
        for _ in range(5):
            store.perform_sync(ReportWorker(WorkerRecord("one", "server", 1, ("resize",), 10, started_at=began)))
            store.perform_sync(GetWorkers())
        store.perform_sync(RemoveWorker("one", began))

        assert poll.poll(100) == []

        store.perform_sync(Start((new_job(),)))

        assert poll.poll(10_000) != []
    finally:
        events.close()
        store.close_sync()


def test_a_report_does_not_wait_for_an_open_transaction(store: SqliteStore) -> None:
    store.open_sync()
    tx = store.begin_sync()
    tx.perform(Start((new_job(),)))
    try:
        store.perform_sync(ReportWorker(WORKER))

        assert _ids(store) == ["one"]
    finally:
        tx.rollback()
        store.close_sync()


def test_a_store_without_workers_has_no_worker_file(store: SqliteStore, tmp_path: Path) -> None:
    store.open_sync()
    store.perform_sync(Start((new_job(),)))

    assert _ids(store) == []
    assert store.perform_sync(DrainWorker("one")) is False
    store.perform_sync(RemoveWorker("one", 1))

    store.close_sync()
    assert [file.name for file in tmp_path.iterdir() if "workers" in file.name] == []


def test_the_worker_file_is_private(store: SqliteStore, tmp_path: Path) -> None:
    store.open_sync()
    store.perform_sync(ReportWorker(WORKER))
    store.close_sync()

    assert stat.S_IMODE((tmp_path / "jobs.db-workers").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"not a database" * 100, b""])
def test_a_damaged_worker_file_is_replaced(store: SqliteStore, tmp_path: Path, content: bytes) -> None:
    store.open_sync()
    store.perform_sync(ReportWorker(WORKER))
    (tmp_path / "jobs.db-workers").write_bytes(content)

    assert _ids(store) == []
    store.perform_sync(ReportWorker(WORKER))

    assert _ids(store) == ["one"]
    store.close_sync()


def test_a_symbolic_link_in_place_of_the_worker_file_is_refused(store: SqliteStore, tmp_path: Path) -> None:
    store.open_sync()
    (tmp_path / "jobs.db-workers").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreUnavailable, match="symbolic link"):
        store.perform_sync(ReportWorker(WORKER))

    store.close_sync()
    assert not (tmp_path / "elsewhere").exists()
