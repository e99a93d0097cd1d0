"""Statements of async code that still run when their transaction is checked or ends."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from holdfast.core.record import Claim
from holdfast.engine.operations import Guard, Start
from holdfast.errors import ClaimLost
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job
from tests.stores.sqlite.slow_clock import SlowClock


class SlowNumber:
    """A parameter whose conversion blocks, before its statement has accessed the file."""

    def __init__(self) -> None:
        self.asked, self.given = threading.Event(), threading.Event()

    def __conform__(self, protocol: object) -> int:
        self.asked.set()
        self.given.wait(60)
        return 1


async def test_a_rollback_undoes_the_statement_of_a_cancelled_task(open_store: SqliteStore) -> None:
    setup = await open_store.begin()
    await setup.native.execute("create table ledger (id integer)")
    await setup.commit()
    tx = await open_store.begin()
    slow = SlowNumber()
    statement = asyncio.ensure_future(tx.native.execute("insert into ledger values (?)", [slow]))
    await asyncio.to_thread(slow.asked.wait, 60)
    statement.cancel()
    await asyncio.gather(statement, return_exceptions=True)

    ending = asyncio.ensure_future(tx.rollback())
    ended, _ = await asyncio.wait([ending], timeout=0.2)
    slow.given.set()
    await ending

    assert not ended
    after = await open_store.begin()
    async with after.native.execute("select * from ledger") as cursor:
        assert list(await cursor.fetchall()) == []
    await after.rollback()


async def test_a_guard_waits_for_the_statements_of_the_application_without_blocking_the_loop(
    open_store: SqliteStore,
) -> None:
    tx = await open_store.begin()
    await tx.native.execute("create table ledger (id integer)")
    slow = SlowNumber()
    statement = asyncio.ensure_future(tx.native.execute("insert into ledger values (?)", [slow]))
    await asyncio.to_thread(slow.asked.wait, 60)

    check = asyncio.ensure_future(tx.perform(Guard(Claim("missing", "token"))))
    checked, _ = await asyncio.wait([check], timeout=0.2)
    slow.given.set()

    assert not checked
    with pytest.raises(ClaimLost):
        await check
    assert statement.done()
    await tx.rollback()


async def test_a_guard_waits_for_earlier_operations(path: Path) -> None:
    clock = SlowClock()
    store = SqliteStore(f"sqlite:///{path}", clock=clock)
    await store.open()
    tx = await store.begin()
    clock.slow = True
    start = asyncio.ensure_future(tx.perform(Start((new_job(),))))
    await asyncio.to_thread(clock.asked.wait, 60)

    check = asyncio.ensure_future(tx.perform(Guard(Claim("missing", "token"))))
    checked, _ = await asyncio.wait([check], timeout=0.2)
    clock.given.set()

    assert not checked
    with pytest.raises(ClaimLost):
        await check
    assert start.done()
    await tx.rollback()
    await store.close()


async def test_a_task_that_outlives_its_transaction_cannot_write_into_the_next_one(open_store: SqliteStore) -> None:
    tx = await open_store.begin()
    left = tx.native
    await left.execute("create table ledger (id integer)")
    await tx.commit()
    after = await open_store.begin()

    with pytest.raises(RuntimeError, match="over"):
        await left.execute("insert into ledger values (1)")

    async with after.native.execute("select * from ledger") as cursor:
        assert list(await cursor.fetchall()) == []
    await after.rollback()


async def test_a_statement_requested_after_the_commit_is_refused(open_store: SqliteStore) -> None:
    tx = await open_store.begin()
    await tx.native.execute("create table ledger (id integer)")
    slow = SlowNumber()
    first = asyncio.ensure_future(tx.native.execute("insert into ledger values (?)", [slow]))
    await asyncio.to_thread(slow.asked.wait, 60)
    ending = asyncio.ensure_future(tx.commit())
    await asyncio.sleep(0)
    second = asyncio.ensure_future(tx.native.execute("insert into ledger values (2)"))
    await asyncio.sleep(0)

    slow.given.set()
    await first
    await ending

    with pytest.raises(RuntimeError, match="over"):
        await second
    after = await open_store.begin()
    async with after.native.execute("select * from ledger") as cursor:
        assert list(await cursor.fetchall()) == [(1,)]
    await after.rollback()
