"""Connections of an application that a store refuses as `tx`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import aiosqlite
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from holdfast.engine.operations import PreviewStart, Start
from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
from tests.stores.sqlite.app_connections import async_plain, async_session, plain, session


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
