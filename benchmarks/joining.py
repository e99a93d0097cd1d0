"""A start in a transaction of the application, beside one write of its own: by Holdfast with `tx=`, and by hand.

By hand, the transaction inserts a row into the table of the limit instead.
"""

from __future__ import annotations

import json
import sqlite3
import time
from importlib import import_module
from typing import Any
from uuid import uuid4

import aiosqlite
import psycopg

from benchmarks.contender import Contender
from benchmarks.limits.postgres import INSERT_AND_NOTIFY, PostgresLimit
from benchmarks.limits.sqlite import INSERT, SqliteLimit
from benchmarks.ours import Ours, OursBlocking, add

WRITE = "insert into benchmark_write values ({})"
_SQLITE, _ASYNCPG, _PSYCOPG = WRITE.format("?"), WRITE.format("$1"), WRITE.format("%s").encode()
_PSYCOPG_INSERT = b"""
with inserted as (insert into job (id, type, input) values (%s, %s, %s)) select pg_notify('due', '')
"""
_ONLY = frozenset({"joining"})


class OursJoined(Ours):
    """In transactions of aiosqlite and asyncpg."""

    name = "Holdfast, tx="
    about = {store: Ours.about[store] for store in ("postgres", "sqlite")}  # noqa: RUF012
    only = _ONLY
    starts = (1500, 0)

    async def open(self) -> None:
        await super().open()
        if self.place.store == "sqlite":
            self._application: Any = await aiosqlite.connect(self.place.url, isolation_level=None)
        else:
            self._application = await import_module("asyncpg").connect(self.place.url)

    async def close(self) -> None:
        await self._application.close()
        await super().close()

    async def start(self, number: int) -> None:
        tx = self._application
        if self.place.store == "sqlite":
            await tx.execute("begin immediate")
            await tx.execute(_SQLITE, [number])
            await self.client.start(add.bind(number), tx=tx)
            await tx.execute("commit")
        else:
            async with tx.transaction():
                await tx.execute(_ASYNCPG, number)
                await self.client.start(add.bind(number), tx=tx)


class OursBlockingJoined(OursBlocking):
    """In transactions of sqlite3 and psycopg."""

    name = "Holdfast, SyncClient, tx="
    about = OursJoined.about
    only = _ONLY
    starts = (1500, 0)

    def open(self) -> None:  # type: ignore[override]
        super().open()
        if self.place.store == "sqlite":
            self._application: Any = sqlite3.connect(self.place.url, isolation_level=None)
        else:
            self._application = psycopg.connect(self.place.url)

    def close(self) -> None:  # type: ignore[override]
        self._application.close()
        super().close()

    def start(self, number: int) -> None:  # type: ignore[override]
        tx = self._application
        if self.place.store == "sqlite":
            tx.execute("begin immediate")
            tx.execute(_SQLITE, [number])
            self._sync.start(add.bind(number), tx=tx)
            tx.execute("commit")
        else:
            with tx.transaction():
                tx.execute(_PSYCOPG, [number])
                self._sync.start(add.bind(number), tx=tx)


class SqliteJoined(SqliteLimit):
    """By hand with sqlite3."""

    name = "limit: sqlite3, tx"
    only = _ONLY
    starts = (1500, 0)

    def start(self, number: int) -> None:
        self._connection.execute("begin immediate")
        self._connection.execute(_SQLITE, [number])
        self._connection.execute(INSERT, _row(number))
        self._connection.execute("commit")


class AioSqliteJoined(Contender):
    """By hand with aiosqlite."""

    name = "limit: aiosqlite, tx"
    about = SqliteLimit.about
    only = _ONLY
    starts = (1500, 0)

    def setup(self) -> None:
        SqliteLimit(self.place).setup()

    async def open(self) -> None:
        self._connection = await aiosqlite.connect(self.place.url, isolation_level=None)

    async def close(self) -> None:
        await self._connection.close()

    async def start(self, number: int) -> None:
        await self._connection.execute("begin immediate")
        await self._connection.execute(_SQLITE, [number])
        await self._connection.execute(INSERT, _row(number))
        await self._connection.execute("commit")


class AsyncpgJoined(PostgresLimit):
    """By hand with asyncpg."""

    name = "limit: asyncpg, tx"
    only = _ONLY
    starts = (1500, 0)

    async def start(self, number: int) -> None:
        async with self._connection.transaction():
            await self._connection.execute(_ASYNCPG, number)
            await self._connection.execute(INSERT_AND_NOTIFY, str(uuid4()), "add", _payload(number).encode())


class PsycopgJoined(Contender):
    """By hand with psycopg."""

    name = "limit: psycopg, tx"
    about = PostgresLimit.about
    only = _ONLY
    starts = (1500, 0)
    blocking = True

    async def setup(self) -> None:
        await PostgresLimit(self.place).setup()

    def open(self) -> None:
        self._connection = psycopg.connect(self.place.url)

    def close(self) -> None:
        self._connection.close()

    def start(self, number: int) -> None:
        with self._connection.transaction():
            self._connection.execute(_PSYCOPG, [number])
            self._connection.execute(_PSYCOPG_INSERT, [str(uuid4()), "add", _payload(number).encode()])


def _row(number: int) -> tuple[str, str, int, str, None]:
    return str(uuid4()), "add", int(time.time() * 1e6), _payload(number), None


def _payload(number: int) -> str:
    return json.dumps({"number": number})
