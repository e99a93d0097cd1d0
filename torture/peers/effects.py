"""The handler of the comparison: sleep, write a mark, sleep again."""

from __future__ import annotations

import asyncio

import psycopg
from redis.asyncio import Redis

BEFORE, AFTER = 0.15, 0.1
MARKS = "peer_marks"


async def mark_postgres(url: str, number: int) -> None:
    """Write a mark to a table and commit."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=10) as connection:
        await connection.execute(f"insert into {MARKS} (number) values (%s)", (number,))  # noqa: S608 - our own table


async def mark_redis(url: str, number: int) -> None:
    """Append a mark to a list."""
    async with Redis.from_url(url) as client:  # pyright: ignore[reportUnknownMemberType]
        await client.rpush(MARKS, number)


async def mark(url: str, number: int) -> None:
    """Sleep, mark, sleep: a crash may happen before or after the mark."""
    await asyncio.sleep(BEFORE)
    await (mark_postgres if url.startswith("postgres") else mark_redis)(url, number)
    await asyncio.sleep(AFTER)
