"""Transactions of the store: the application may use them, but only the store ends them."""

from __future__ import annotations

import sqlite3

import pytest

from holdfast.engine.operations import GetChains, GetStats, Start
from holdfast.engine.wakeups import Hints
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.connection.async_connection import AsyncConnection
from holdfast.testing.builders import new_job


def wrapped(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> dict[str, object]:
    return {"row": row}


def test_the_writes_of_the_application_commit_with_the_job(store: SqliteStore) -> None:
    tx = store.begin_sync()
    tx.native.execute("create table orders (id integer primary key)")
    tx.native.execute("insert into orders values (?)", [7])
    [started] = tx.perform(Start((new_job(),)))

    tx.commit()

    after = store.begin_sync()
    assert after.native.execute("select id from orders").fetchall() == [(7,)]
    after.rollback()
    assert store.perform_sync(GetChains((started.chain.first.id,))) == [started.chain]


async def test_the_writes_of_async_code_commit_with_the_job(open_store: SqliteStore) -> None:
    tx = await open_store.begin()
    assert isinstance(tx.native, AsyncConnection)
    await tx.native.execute("create table orders (id integer primary key)")
    await tx.native.execute("insert into orders values (7)")
    [started] = await tx.perform(Start((new_job(),)))

    await tx.commit()

    after = await open_store.begin()
    async with after.native.execute("select id from orders") as cursor:
        assert list(await cursor.fetchall()) == [(7,)]
    await after.rollback()
    assert await open_store.perform(GetChains((started.chain.first.id,))) == [started.chain]


async def test_a_rollback_undoes_the_writes_of_the_application_and_the_job(open_store: SqliteStore) -> None:
    tx = await open_store.begin()
    await tx.native.execute("create table orders (id integer primary key)")
    [started] = await tx.perform(Start((new_job(),)))

    await tx.rollback()
    await tx.rollback()

    assert await open_store.perform(GetChains((started.chain.first.id,))) == [None]
    after = await open_store.begin()
    async with after.native.execute("select name from sqlite_master where name = 'orders'") as cursor:
        assert list(await cursor.fetchall()) == []
    await after.rollback()


@pytest.mark.parametrize("method", ["commit", "rollback", "close", "__enter__", "executescript"])
def test_the_application_cannot_end_the_transaction(store: SqliteStore, method: str) -> None:
    tx = store.begin_sync()
    [started] = tx.perform(Start((new_job(),)))
    arguments = ["select 1"] if method == "executescript" else []

    with pytest.raises(RuntimeError, match="Holdfast's"):
        getattr(tx.native, method)(*arguments)

    with pytest.raises(RuntimeError, match="Holdfast's"):
        tx.commit()
    assert store.perform_sync(GetChains((started.chain.first.id,))) == [None]


@pytest.mark.parametrize("name", ["isolation_level", "autocommit"])
def test_the_application_cannot_change_a_setting_that_commits(store: SqliteStore, name: str) -> None:
    tx = store.begin_sync()
    tx.perform(Start((new_job(),)))

    with pytest.raises(RuntimeError, match="Holdfast's"):
        setattr(tx.native, name, None)

    tx.rollback()
    assert store.perform_sync(GetStats()) == []


@pytest.mark.parametrize("method", ["commit", "rollback", "close", "__aenter__", "executescript"])
async def test_async_code_cannot_end_the_transaction(open_store: SqliteStore, method: str) -> None:
    tx = await open_store.begin()
    [started] = await tx.perform(Start((new_job(),)))
    arguments = ["select 1"] if method == "executescript" else []

    with pytest.raises(RuntimeError, match="Holdfast's"):
        await getattr(tx.native, method)(*arguments)

    with pytest.raises(RuntimeError, match="Holdfast's"):
        await tx.commit()
    assert await open_store.perform(GetChains((started.chain.first.id,))) == [None]


async def test_the_row_factory_of_the_application_does_not_affect_operations(open_store: SqliteStore) -> None:
    tx = await open_store.begin()
    tx.native.row_factory = wrapped
    tx.native.text_factory = bytes
    job = new_job()

    await tx.perform(Start((job,)))

    async with tx.native.execute("select id from holdfast_job") as cursor:
        assert list(await cursor.fetchall()) == [{"row": (job.id.encode(),)}]
    await tx.commit()
    after = await open_store.begin()
    async with after.native.execute("select id from holdfast_job") as cursor:
        assert list(await cursor.fetchall()) == [(job.id,)]
    await after.rollback()


def test_a_statement_that_ends_the_transaction_is_rejected(store: SqliteStore) -> None:
    tx = store.begin_sync()
    with pytest.raises(RuntimeError, match="COMMIT is not allowed"):
        tx.native.execute("commit")
    assert tx.native.in_transaction

    with pytest.raises(RuntimeError, match="COMMIT is not allowed"):
        tx.commit()

    store.begin_sync().rollback()


def test_sqlite_rejects_the_statement_on_a_cursor_of_another_class(store: SqliteStore) -> None:
    store.begin_sync().commit()  # caches the statement: SQLite calls the authorizer only when it prepares one
    tx = store.begin_sync()
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        sqlite3.Cursor(tx.native).execute("commit")
    assert tx.native.in_transaction

    with pytest.raises(RuntimeError, match="COMMIT is not allowed"):
        tx.perform(Start((new_job("late"),)))
    tx.rollback()

    assert store.perform_sync(GetStats()) == []


def test_a_transaction_that_is_over_performs_nothing(store: SqliteStore) -> None:
    tx = store.begin_sync()
    tx.commit()

    with pytest.raises(RuntimeError, match="is over"):
        tx.perform(Start((new_job(),)))
    with pytest.raises(RuntimeError, match="is over"):
        tx.commit()


async def test_listeners_receive_the_hints_after_the_commit(open_store: SqliteStore) -> None:
    received: list[Hints] = []
    open_store.wakeups.subscribe(lambda hints: None if hints.anything else received.append(hints))
    tx = await open_store.begin()
    await tx.perform(Start((new_job("one"), new_job("two"))))
    await tx.perform(Start((new_job("three"),)))
    assert received == []

    await tx.commit()

    assert [hints.due for hints in received] == [{"one", "two", "three"}]


def test_the_authorizer_that_rejects_commits_cannot_be_replaced(store: SqliteStore) -> None:
    tx = store.begin_sync()
    tx.native.execute("create table orders (id integer primary key)")
    with pytest.raises(RuntimeError, match="set_authorizer\\(\\) is not allowed here"):
        tx.native.set_authorizer(None)
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        sqlite3.Connection.commit(tx.native)
    tx.rollback()

    after = store.begin_sync()
    assert after.native.execute("select name from sqlite_schema where name = 'orders'").fetchall() == []
    after.rollback()
