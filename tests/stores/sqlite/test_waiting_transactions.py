"""Transactions that wait, are cancelled, or are left open: later transactions are not blocked."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.operations import GetStats, Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.wakeups.hint_log import wake_file
from holdfast.stores.sqlite.writing.write_queue import Waiter, write_queue
from holdfast.testing.builders import new_job

if sys.platform != "win32":
    import fcntl


class WakeupLoop(asyncio.SelectorEventLoop):
    """Lets a test wait until another thread has scheduled a callback."""

    def __init__(self) -> None:
        super().__init__()
        self.reported = threading.Event()

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self.reported.set()
        return handle


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_an_open_cursor_does_not_block_later_transactions(path: Path, end: str) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=5")
    await store.open()
    tx = await store.begin()
    await tx.native.execute("create table orders (id integer primary key)")
    await tx.native.execute("insert into orders values (1), (2), (3)")
    await tx.commit()

    tx = await store.begin()
    kept = await tx.native.execute("select id from orders")
    first = await kept.fetchone()
    await (tx.commit() if end == "commit" else tx.rollback())
    await store.perform(Start((new_job(),)))
    after = await store.begin()

    assert first == (1,)
    await after.rollback()
    await store.close()


def test_an_open_cursor_of_a_writing_statement_does_not_block_later_transactions(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=5")
    store.open_sync()
    tx = store.begin_sync()
    tx.native.execute("create table orders (id integer primary key, paper blob)")
    kept = tx.native.execute("insert into orders values (1, x'aa'), (2, x'bb') returning id")
    paper = tx.native.blobopen("orders", "paper", 1)
    assert kept.fetchone() == (1,)

    tx.commit()

    store.perform_sync(Start((new_job(),)))
    after = store.begin_sync()
    assert after.native.execute("select count(*) from orders").fetchall() == [(2,)]
    with pytest.raises(sqlite3.ProgrammingError):
        kept.fetchone()
    with pytest.raises(sqlite3.ProgrammingError):
        paper.read()
    after.rollback()
    store.close_sync()


async def test_a_cancelled_begin_does_not_block_later_transactions(open_store: SqliteStore) -> None:
    async def begin() -> None:
        tx = await open_store.begin()
        await tx.rollback()

    for steps in range(12):
        task = asyncio.ensure_future(begin())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    tx = await asyncio.wait_for(open_store.begin(), 60)
    await tx.rollback()


def test_a_begin_for_a_closed_loop_does_not_block_later_transactions(store: SqliteStore) -> None:
    hold = store.begin_sync()

    async def abandon() -> None:
        asyncio.ensure_future(store.begin())  # noqa: RUF006 - abandoned on purpose
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(abandon())
    pending = asyncio.all_tasks(loop)
    loop.close()
    hold.rollback()

    store.begin_sync().rollback()
    for task in pending:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_begin_for_a_closed_loop_does_not_block_a_begin_of_another_loop(store: SqliteStore) -> None:
    hold = store.begin_sync()

    async def abandon() -> None:
        asyncio.ensure_future(store.begin())  # noqa: RUF006 - abandoned on purpose
        await asyncio.sleep(0)

    async def begin_after_it() -> None:
        second = asyncio.ensure_future(store.begin())
        await asyncio.sleep(0)
        hold.rollback()
        await (await asyncio.wait_for(second, 60)).rollback()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(abandon())
    pending = asyncio.all_tasks(loop)
    loop.close()

    asyncio.run(begin_after_it())

    for task in pending:
        task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("far", ["begun", "open"])
def test_a_transaction_of_a_closed_loop_does_not_block_later_transactions(store: SqliteStore, far: str) -> None:
    loop = WakeupLoop()

    async def begin() -> None:
        tx = await store.begin()
        opened.set()
        await asyncio.Event().wait()
        await tx.rollback()

    async def leave_behind() -> None:
        task = asyncio.ensure_future(begin())
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        await (asyncio.sleep(0) if far == "begun" else opened.wait())

    opened = asyncio.Event()
    loop.run_until_complete(leave_behind())
    assert loop.reported.wait(60)
    loop.close()
    del loop
    gc.collect()

    tx = store.begin_sync()

    tx.rollback()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no flock")
async def test_the_answer_of_a_commit_does_not_wait_for_the_lock_of_another_process(
    open_store: SqliteStore, path: Path
) -> None:
    tx = await open_store.begin()
    second = asyncio.ensure_future(open_store.begin())
    await asyncio.sleep(0)
    with wake_file(path).open("rb") as other_process:
        fcntl.flock(other_process, fcntl.LOCK_EX)

        await tx.commit()

        for _ in range(10):
            await asyncio.sleep(0)
        assert not second.done()
    await (await asyncio.wait_for(second, 60)).rollback()


async def test_the_write_queue_skips_a_cancelled_task(open_store: SqliteStore) -> None:
    hold = await open_store.begin()
    first, second = [asyncio.ensure_future(open_store.begin()) for _ in range(2)]
    await asyncio.sleep(0)

    first.cancel()
    await hold.rollback()

    tx = await asyncio.wait_for(second, 60)
    await tx.rollback()
    assert first.cancelled()


async def test_a_task_that_is_cancelled_at_its_timeout_is_cancelled(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(f"sqlite:///{path}?timeout=0.05")
    await store.open()
    hold = await store.begin()
    queue = write_queue(path)
    withdraw = queue.withdraw

    def withdraw_and_cancel(waiter: Waiter) -> bool:
        asyncio.get_running_loop().call_soon(late.cancel)
        return withdraw(waiter)

    monkeypatch.setattr(queue, "withdraw", withdraw_and_cancel)
    late = asyncio.ensure_future(store.begin())

    with pytest.raises(asyncio.CancelledError):
        await late

    await hold.rollback()
    await store.close()


async def test_a_begin_that_waits_when_the_store_is_closed_is_refused(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    await store.open()
    hold = await store.begin()
    late = asyncio.ensure_future(store.begin())
    await asyncio.sleep(0)

    await store.close()
    await hold.rollback()

    with pytest.raises(RuntimeError, match="was closed"):
        await asyncio.wait_for(late, 60)
    await store.open()
    await (await store.begin()).rollback()
    await store.close()


async def test_a_transaction_that_is_open_when_the_store_is_closed_can_be_rolled_back(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}")
    await store.open()
    tx = await store.begin()
    await tx.perform(Start((new_job(),)))

    await store.close()
    await asyncio.wait_for(tx.rollback(), 60)

    await store.open()
    assert await store.perform(GetStats()) == []
    await store.close()
