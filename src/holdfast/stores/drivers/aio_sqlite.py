"""The driver for an `aiosqlite.Connection`, and for the connection of a store's transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.stores.sql.plan import Many, Row, Statement

if TYPE_CHECKING:
    import aiosqlite


class AioSqliteDriver:
    """This connection has no commit hook. The file watch detects its commits."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

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
