"""The application's own transaction, on every kind of connection that there is for SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import create_engine, event
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from holdfast.engine.operations import GetChains, PreviewStart, Start
from holdfast.engine.wakeups import Hints
from holdfast.errors import ChainNotFound, StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job


@contextmanager
def plain(path: Path) -> Generator[Any]:
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


@contextmanager
def manual(path: Path) -> Generator[Any]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = lambda cursor, row: dict(zip("abcdefghijklmnopqrstuvwxyz", row, strict=False))
    connection.execute("begin immediate")
    yield connection
    connection.close()


@contextmanager
def session(path: Path) -> Generator[Any]:
    engine = create_engine(f"sqlite:///{path}")
    with Session(engine) as session:
        yield session
    engine.dispose()


@contextmanager
def scoped(path: Path) -> Generator[Any]:
    engine = create_engine(f"sqlite:///{path}")
    session = scoped_session(sessionmaker(engine))
    yield session
    session.remove()
    engine.dispose()


@contextmanager
def connection(path: Path) -> Generator[Any]:
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@contextmanager
def begun(path: Path) -> Generator[Any]:
    """SQLAlchemy's own recipe for SQLite: no transactions by the driver, BEGIN by an event."""
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def leave_alone(connection: Any, record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.exec_driver_sql("begin immediate")

    with engine.connect() as connection:
        yield connection
    engine.dispose()


@asynccontextmanager
async def async_plain(path: Path) -> AsyncGenerator[Any]:
    async with aiosqlite.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


@asynccontextmanager
async def async_session(path: Path) -> AsyncGenerator[Any]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with AsyncSession(engine) as session:
        yield session
    await engine.dispose()


@asynccontextmanager
async def async_scoped(path: Path) -> AsyncGenerator[Any]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    session = async_scoped_session(async_sessionmaker(engine), scopefunc=asyncio.current_task)
    yield session
    await session.remove()
    await engine.dispose()


@asynccontextmanager
async def async_connection(path: Path) -> AsyncGenerator[Any]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with engine.connect() as connection:
        yield connection
    await engine.dispose()


BLOCKING = [plain, manual, session, scoped, connection, begun]
ASYNC = [async_plain, async_session, async_scoped, async_connection]


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


# Refusals


def test_a_connection_that_commits_each_statement_is_refused(path: Path, store: SqliteStore) -> None:
    connection = sqlite3.connect(path, isolation_level=None)

    with pytest.raises(ValueError, match=r"begin a transaction on it first.*or leave tx out"):
        store.join_sync(connection)

    connection.close()


async def test_an_async_connection_that_commits_each_statement_is_refused(path: Path, open_store: SqliteStore) -> None:
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        with pytest.raises(ValueError, match="begin a transaction"):
            open_store.join(connection)


def test_a_session_in_autocommit_is_refused(path: Path, store: SqliteStore) -> None:
    engine = create_engine(f"sqlite:///{path}", isolation_level="AUTOCOMMIT")

    with Session(engine) as session, pytest.raises(ValueError, match="begin a transaction"):
        store.join_sync(session).perform(Start((new_job(),)))

    engine.dispose()


async def test_an_async_session_in_autocommit_is_refused(path: Path, open_store: SqliteStore) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}", isolation_level="AUTOCOMMIT")

    async with AsyncSession(engine) as session:
        with pytest.raises(ValueError, match="begin a transaction"):
            await open_store.join(session).perform(Start((new_job(),)))

    await engine.dispose()


def test_a_connection_to_another_file_is_refused(path: Path, tmp_path: Path, store: SqliteStore) -> None:
    with plain(tmp_path / "other.db") as tx, pytest.raises(ValueError, match=r"another database \(.*other\.db\)"):
        store.join_sync(tx).perform(PreviewStart((new_job(),)))
    with plain(Path(":memory:")) as tx, pytest.raises(ValueError, match=r"another database \(in memory\)"):
        store.join_sync(tx).perform(PreviewStart((new_job(),)))


async def test_a_blocking_connection_in_async_code_is_refused_with_advice(path: Path, open_store: SqliteStore) -> None:
    with plain(path) as tx, pytest.raises(TypeError, match="belongs to SyncClient"):
        open_store.join(tx)
    with session(path) as tx, pytest.raises(TypeError, match="belongs to SyncClient"):
        open_store.join(tx)
    async with async_plain(path) as tx:
        with pytest.raises(TypeError, match="belongs to Client"):
            open_store.join_sync(tx)
    async with async_session(path) as tx:
        with pytest.raises(TypeError, match="belongs to Client"):
            open_store.join_sync(tx)


def test_any_other_object_is_refused_with_the_accepted_types(store: SqliteStore) -> None:
    with pytest.raises(TypeError, match=r"a sqlite3\.Connection, a SQLAlchemy Session or Connection, or Django"):
        store.join_sync(object())
    with pytest.raises(TypeError, match=r"an aiosqlite\.Connection, or a SQLAlchemy AsyncSession"):
        store.join(object())


def test_the_error_of_a_transaction_that_read_first_says_how_to_begin(path: Path, store: SqliteStore) -> None:
    with plain(path) as tx:
        tx.isolation_level = None
        tx.execute("begin")
        tx.execute("select * from holdfast_job").fetchall()
        store.perform_sync(Start((new_job(),)))

        with pytest.raises(StoreUnavailable, match="BEGIN IMMEDIATE"):
            store.join_sync(tx).perform(Start((new_job(),)))

        tx.execute("rollback")
