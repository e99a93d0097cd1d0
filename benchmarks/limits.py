"""The limits: what the event loop and sqlite3 can do when nothing is promised but what they do themselves."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

SCHEMA = """
create table job (seq integer primary key, id text unique, type text, status text, input blob, output blob, token text);
create index due on job (type, seq) where status = 'pending';
"""
INSERT = "insert into job (id, type, status, input) values (?, 'add', 'pending', ?)"


async def tasks(count: int) -> float:
    """Tasks a second of a bare event loop, a hundred at a time."""

    async def add(a: int, b: int) -> int:
        return a + b

    begun = time.perf_counter()
    for number in range(0, count, 100):
        await asyncio.gather(*(asyncio.create_task(add(number, each)) for each in range(100)))
    return count / (time.perf_counter() - begun)


def starts_one_by_one(path: Path, count: int) -> float:
    """Rows a second, each in a transaction of its own, synced to disk."""
    with closing(_open(path)) as connection:
        begun = time.perf_counter()
        for number in range(count):
            connection.execute("begin immediate")
            connection.execute(INSERT, (f"one-{number}", b'{"a":1,"b":2}'))
            connection.execute("commit")
        return count / (time.perf_counter() - begun)


def starts_together(path: Path, count: int) -> float:
    """Rows a second, all in one transaction."""
    with closing(_open(path)) as connection:
        begun = time.perf_counter()
        connection.execute("begin immediate")
        connection.executemany(INSERT, [(f"many-{number}", b'{"a":1,"b":2}') for number in range(count)])
        connection.execute("commit")
        return count / (time.perf_counter() - begun)


def drain(path: Path, count: int, batch: int = 100) -> float:
    """Rows a second, claimed and completed in batches: two synced transactions for each."""
    starts_together(path, count)
    with closing(_open(path)) as connection:
        begun = time.perf_counter()
        for _ in range(count // batch):
            connection.execute("begin immediate")
            rows = connection.execute(
                "select seq, input from job where type = 'add' and status = 'pending' order by seq limit ?", (batch,)
            ).fetchall()
            connection.executemany(
                "update job set status = 'running', token = 't' where seq = ?", [row[:1] for row in rows]
            )
            connection.execute("commit")
            connection.execute("begin immediate")
            connection.executemany(
                "update job set status = 'completed', output = ? where seq = ? and token = 't'",
                [(b"3", row[0]) for row in rows],
            )
            connection.execute("commit")
        return count / (time.perf_counter() - begun)


def _open(path: Path) -> sqlite3.Connection:
    new = not path.exists()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    if new:
        connection.executescript(SCHEMA)
    return connection
