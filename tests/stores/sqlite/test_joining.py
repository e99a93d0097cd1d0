"""The application's own transaction, on every kind of connection that there is for SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from holdfast.engine.operations import GetChains, Start
from holdfast.engine.wakeups import Hints
from holdfast.errors import ChainNotFound
from holdfast.stores.drivers.aio_sqlite import REQUEST
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.connection.threads import ThreadPool
from holdfast.stores.sqlite.wal.wal import PREALLOCATE_AFTER, Wal
from holdfast.stores.sqlite.wal.wal_preallocation import LENGTH
from holdfast.testing.builders import new_job
from tests.stores.sqlite.app_connections import ASYNC, BLOCKING, begun, connection, manual, plain, session
from tests.waiting import wait_until


@pytest.mark.parametrize("kind", BLOCKING)
def test_a_job_is_visible_after_the_commit_and_not_before(kind: Any, path: Path, store: SqliteStore) -> None:
    with kind(path) as tx:
        [started] = store.join_sync(tx).perform(Start((new_job(),)))
        before = store.perform_sync(GetChains((started.chain.first.id,)))
        within = store.join_sync(tx).perform(GetChains((started.chain.first.id,)))
        tx.commit()

    assert before == [None]
    assert within == store.perform_sync(GetChains((started.chain.first.id,))) == [started.chain]


@pytest.mark.parametrize("kind", BLOCKING)
def test_a_job_of_a_rolled_back_transaction_does_not_exist(kind: Any, path: Path, store: SqliteStore) -> None:
    with kind(path) as tx:
        [started] = store.join_sync(tx).perform(Start((new_job(),)))
        tx.rollback()

    assert store.perform_sync(GetChains((started.chain.first.id,))) == [None]
    store.perform_sync(Start((new_job(),)))


@pytest.mark.parametrize("kind", ASYNC)
async def test_a_job_of_an_async_transaction_is_visible_after_the_commit(
    kind: Any, path: Path, open_store: SqliteStore
) -> None:
    async with kind(path) as tx:
        [started] = await open_store.join(tx).perform(Start((new_job(),)))
        before = await open_store.perform(GetChains((started.chain.first.id,)))
        within = await open_store.join(tx).perform(GetChains((started.chain.first.id,)))
        await tx.commit()
        [undone] = await open_store.join(tx).perform(Start(tuple(new_job() for _ in range(1))))
        await tx.rollback()

    assert before == [None]
    assert within == await open_store.perform(GetChains((started.chain.first.id,))) == [started.chain]
    assert await open_store.perform(GetChains((undone.chain.first.id,))) == [None]


@pytest.mark.parametrize("kind", BLOCKING)
def test_many_jobs_are_started_in_one_transaction(kind: Any, path: Path, store: SqliteStore) -> None:
    jobs = tuple(new_job(key=f"key-{number}") for number in range(95))
    with kind(path) as tx:
        store.join_sync(tx).perform(Start(jobs))
        again = store.join_sync(tx).perform(Start(tuple(new_job(key=job.key) for job in jobs)))
        tx.commit()

    assert [started.chain.first.id for started in again] == [job.id for job in jobs]
    assert all(started.deduplicated for started in again)


@pytest.mark.parametrize("kind", [session, connection, begun])
def test_a_rollback_to_a_savepoint_removes_its_jobs(kind: Any, path: Path, store: SqliteStore) -> None:
    with kind(path) as tx:
        [kept] = store.join_sync(tx).perform(Start((new_job(),)))
        savepoint = tx.begin_nested()
        [undone] = store.join_sync(tx).perform(Start((new_job(),)))
        savepoint.rollback()
        tx.commit()

    ids = (kept.chain.first.id, undone.chain.first.id)
    assert store.perform_sync(GetChains(ids)) == [kept.chain, None]


def test_a_savepoint_on_a_plain_connection(path: Path, store: SqliteStore) -> None:
    with manual(path) as tx:
        [kept] = store.join_sync(tx).perform(Start((new_job(),)))
        tx.execute("savepoint inner")
        [undone] = store.join_sync(tx).perform(Start((new_job(),)))
        tx.execute("rollback to inner")
        tx.execute("commit")

    ids = (kept.chain.first.id, undone.chain.first.id)
    assert store.perform_sync(GetChains(ids)) == [kept.chain, None]


def test_an_operation_that_is_refused_leaves_the_transaction_usable(path: Path, store: SqliteStore) -> None:
    with plain(path) as tx:
        with pytest.raises(ChainNotFound):
            store.join_sync(tx).perform(Start((new_job(), new_job(after=("missing",)))))
        [started] = store.join_sync(tx).perform(Start((new_job(),)))
        tx.commit()

    assert store.perform_sync(GetChains((started.chain.first.id,))) == [started.chain]


def test_holdfast_cannot_end_the_transaction_of_the_application(path: Path, store: SqliteStore) -> None:
    with plain(path) as tx, pytest.raises(RuntimeError, match="the application's own"):
        store.join_sync(tx).commit()


def test_a_session_sends_hints_only_after_its_commit(path: Path, store: SqliteStore) -> None:
    received: list[Hints] = []
    store.wakeups.subscribe(received.append)
    with session(path) as tx:
        store.join_sync(tx).perform(Start((new_job("undone"),)))
        tx.rollback()
        store.join_sync(tx).perform(Start((new_job("one"),)))
        with tx.begin_nested():
            store.join_sync(tx).perform(Start((new_job("two"),)))
        undone = tx.begin_nested()
        store.join_sync(tx).perform(Start((new_job("three"),)))
        undone.rollback()
        before = list(received)
        tx.commit()
        after = list(received)

    assert before == []
    assert set().union(*[hints.due for hints in after]) >= {"one", "two"}


async def test_an_operation_on_aiosqlite_is_one_request_to_its_thread(
    path: Path, open_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """aiosqlite has no public method for it. If this fails with a new version, a start takes twice as long."""
    async with aiosqlite.connect(path) as tx:
        requests = 0
        request: Any = getattr(tx, REQUEST)

        async def counted(*args: Any) -> Any:
            nonlocal requests
            requests += 1
            return await request(*args)

        monkeypatch.setattr(tx, REQUEST, counted)
        [started] = await open_store.join(tx).perform(Start((new_job(),)))
        assert requests == 1
        await tx.commit()

    assert await open_store.perform(GetChains((started.chain.first.id,))) == [started.chain]


@pytest.mark.parametrize("row_factory", [None, sqlite3.Row])
async def test_an_operation_on_another_aiosqlite_is_executed_by_public_methods(
    row_factory: Any, path: Path, open_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aiosqlite.connect(path) as tx:
        tx.row_factory = row_factory
        monkeypatch.setattr("holdfast.stores.drivers.aio_sqlite.REQUEST", "_removed")
        [started] = await open_store.join(tx).perform(Start((new_job(),)))
        await tx.commit()

    assert await open_store.perform(GetChains((started.chain.first.id,))) == [started.chain]


def test_the_log_does_not_grow_with_the_commits_of_the_application(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections do not checkpoint if the library has the WAL-reset bug. Before, the log grew to 25 MB here.

    The maintenance runs between two transactions: while it waits for the write lock, the log grows.
    """
    requested: list[Callable[[], object]] = []

    def note(_: ThreadPool, action: Callable[[], object]) -> None:
        requested.append(action)

    monkeypatch.setattr(ThreadPool, "submit", note)
    with closing(sqlite3.connect(path, isolation_level=None)) as tx:
        for _ in range(1000):
            tx.execute("begin immediate")
            store.join_sync(tx).perform(Start((new_job(),)))
            tx.execute("commit")
            while requested:
                requested.pop()()

        assert path.with_name(f"{path.name}-wal").stat().st_size < 2 * LENGTH


def test_the_log_is_maintained_after_a_long_transaction_of_the_application(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[bool] = []
    maintain = Wal.maintain

    def noting(wal: Wal, writer: sqlite3.Connection) -> bool:
        tried.append(maintain(wal, writer))
        return tried[-1]

    monkeypatch.setattr(Wal, "maintain", noting)
    monkeypatch.setattr("holdfast.stores.sqlite.wal.wal.TIMEOUT", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as tx:
        tx.execute("begin immediate")
        for _ in range(PREALLOCATE_AFTER):
            store.join_sync(tx).perform(Start((new_job(),)))
        wait_until(lambda: False in tried)
        tx.execute("commit")

        wait_until(lambda: True in tried)
        assert path.with_name(f"{path.name}-wal").stat().st_size >= LENGTH
    assert caplog.messages == []


def test_an_operation_succeeds_although_no_thread_can_maintain_the_log(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: ThreadPool) -> None:
        raise RuntimeError("can't start new thread")

    with closing(sqlite3.connect(path, isolation_level=None)) as tx:
        monkeypatch.setattr(ThreadPool, "get_ready", refuse)
        for _ in range(PREALLOCATE_AFTER + 1):
            tx.execute("begin immediate")
            store.join_sync(tx).perform(Start((new_job(),)))
            tx.execute("commit")

    assert caplog.messages == [f"the write-ahead log of {store.name} was not maintained: can't start new thread"] * 2
