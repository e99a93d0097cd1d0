"""Bare commits of one row by the async driver of a store: what a sequential step is compared with.

The row has the columns of a checkpoint. The durability is that of the store: PostgreSQL and SQLite wait for the disk.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
import psycopg
from redis.asyncio import Redis

TABLE = (
    "create table if not exists bare_commit (job text, name text, number int, result {bytes}, primary key (job, name))"
)

Commit = Callable[[int], Awaitable[object]]


@asynccontextmanager
async def bare_commits(url: str) -> AsyncGenerator[Commit]:
    """A function that writes and commits one row."""
    if url.startswith("postgresql"):
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(TABLE.format(bytes="bytea").encode())
            insert = "insert into bare_commit values ('job', %s, %s, %s)"
            yield lambda number: connection.execute(insert, [str(number), number, b"1"], prepare=True)
    elif url.startswith("redis"):
        client: Redis = Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType] - its options have no types
        async with client:
            yield lambda number: client.hset("bare_commit", str(number), "1")
    else:
        # A file of its own: other connections to the store's file must not write checkpoints of its log.
        async with aiosqlite.connect(Path(url).with_suffix(".bare"), isolation_level=None) as database:
            await database.execute("pragma journal_mode = wal")
            await database.execute("pragma synchronous = full")
            await database.execute(TABLE.format(bytes="blob"))
            yield lambda number: database.execute_insert(
                "insert into bare_commit values ('job', ?, ?, ?)", (str(number), number, b"1")
            )
