"""What every handler of the comparison does: work for a moment, leave a mark, work for another."""

from __future__ import annotations

import asyncio

import psycopg
from redis.asyncio import Redis

BEFORE, AFTER = 0.15, 0.1
MARKS = "peer_marks"


async def mark_postgres(url: str, number: int) -> None:
    """Leave a mark in a table, committed at once."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=10) as connection:
        await connection.execute(f"insert into {MARKS} (number) values (%s)", (number,))  # noqa: S608 - our own table


async def mark_redis(url: str, number: int) -> None:
    """Leave a mark in a list."""
    async with Redis.from_url(url) as client:  # pyright: ignore[reportUnknownMemberType]
        await client.rpush(MARKS, number)


async def mark(url: str, number: int) -> None:
    """Work, mark, work: a crash may come before, between and after."""
    await asyncio.sleep(BEFORE)
    await (mark_postgres if url.startswith("postgres") else mark_redis)(url, number)
    await asyncio.sleep(AFTER)
