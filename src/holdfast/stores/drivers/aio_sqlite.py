"""The driver for an `aiosqlite.Connection`, and for the connection of a store's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.engine.generators import drive, drive_async
from holdfast.stores.drivers.sqlite import SqliteDriver
from holdfast.stores.sql.plan import Many, Plan, Row, Statement

if TYPE_CHECKING:
    import aiosqlite

R = TypeVar("R")

REQUEST = "_execute"
"""The private method of aiosqlite that calls a function in the thread of the connection. There is no public one."""


class AioSqliteDriver:
    """This connection has no commit hook. The file watch detects its commits."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def run(self, plan: Plan[R], /) -> R:
        """A whole plan is one request to the thread of an aiosqlite connection. A statement would be a request each.

        If the task is cancelled, the thread still executes the plan; only a rollback of the application undoes it.
        Without the private method, or for the connection of a store's transaction, each statement is a request.
        """
        request: Callable[..., Awaitable[Any]] | None = getattr(self._connection, REQUEST, None)
        native: object = getattr(self._connection, "_conn", None)
        if request is None or not isinstance(native, sqlite3.Connection):
            return await drive_async(plan, self.execute)
        return await request(partial(drive, plan, SqliteDriver(native).execute))  # type: ignore[no-any-return]

    async def execute(self, instruction: Statement | Many, /) -> list[Row]:
        # The application may have set other factories for rows or text.
        texts = self._connection.text_factory
        if texts is not str:
            self._connection.text_factory = str
        try:
            if self._connection.row_factory is None:
                return await self._execute_at_once(instruction)
            async with self._connection.cursor() as cursor:
                cursor.row_factory = None
                match instruction:
                    case Statement(sql, parameters):
                        await cursor.execute(sql, parameters)
                        return [tuple(row) for row in await cursor.fetchall()]
                    case Many(sql, parameters):
                        await cursor.executemany(sql, parameters)
                        return []
        finally:
            if texts is not str:
                self._connection.text_factory = texts

    async def _execute_at_once(self, instruction: Statement | Many) -> list[Row]:
        """One request to the thread of the connection. With a cursor it would be four."""
        match instruction:
            case Statement(sql, parameters):
                return [tuple(row) for row in await self._connection.execute_fetchall(sql, parameters)]
            case Many(sql, parameters):
                await self._connection.executemany(sql, parameters)
                return []

    async def connection(self) -> aiosqlite.Connection:
        return self._connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return self._connection.in_transaction
