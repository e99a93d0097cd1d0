"""Enqueue in the application's own transaction, where a store can share it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from holdfast import Duplicate, Queue, Queued, SyncQueue


def test_a_job_that_is_rolled_back_was_never_there(tmp_path: Path) -> None:
    received: list[str] = []
    with SyncQueue[Any, Any]("emails", store=f"sqlite:///{tmp_path}/jobs.db") as queue:
        queue.on("enqueued", received.append)
        with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
            connection.execute("begin")
            assert queue.enqueue("a", 1, tx=connection) == Queued()
            assert queue.enqueue("a", 1, tx=connection) == Duplicate("queued")
            connection.rollback()
            assert queue.status("a") is None

            connection.execute("begin")
            assert queue.enqueue_many([("a", 1), ("b", 2)], tx=connection) == [Queued(), Queued()]
            connection.commit()

        assert queue.enqueue("b", 3) == Duplicate("queued")
        assert received == ["a", "b"]


async def test_async_code_enqueues_in_its_transaction(tmp_path: Path) -> None:
    received: list[str] = []
    queue: Queue[Any, Any] = Queue("emails", store=f"sqlite:///{tmp_path}/jobs.db")
    queue.on("enqueued", received.append)
    async with queue, aiosqlite.connect(tmp_path / "jobs.db") as connection:
        await connection.execute("begin")
        assert await queue.enqueue("a", 1, tx=connection) == Queued()
        await connection.rollback()

        await connection.execute("begin")
        assert await queue.enqueue("b", 1, tx=connection) == Queued()
        await connection.commit()
        assert await queue.enqueue("a", 1) == Queued()
        assert received == ["b", "a"]


def test_a_queue_without_callbacks_writes_no_mark(tmp_path: Path) -> None:
    with (
        SyncQueue[Any, Any]("emails", store=f"sqlite:///{tmp_path}/jobs.db") as queue,
        closing(sqlite3.connect(tmp_path / "jobs.db")) as connection,
    ):
        for listening in (False, True):
            if listening:
                queue.on("enqueued", print)
            queue.enqueue(f"listening: {listening}", 1, tx=connection)
            marks = connection.execute("select count(*) from holdfast_mark").fetchone()
            connection.commit()
            assert marks == (listening,)


async def test_a_store_without_transactions_says_so() -> None:
    queue: Queue[Any, Any] = Queue("emails", store="memory://")
    async with queue:
        with pytest.raises(TypeError, match="leave tx out"):
            await queue.enqueue("a", 1, tx=object())
