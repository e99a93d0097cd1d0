"""The transaction of an async handler on a connection of Django: used when a test runs its jobs."""

from __future__ import annotations

from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from holdfast.contrib.django.transactions import ConnectionTransaction
from holdfast.engine.operations import Operation

R = TypeVar("R")


class AsyncConnectionTransaction:
    """Performs everything in the thread that owns the connection, which is the thread of the test."""

    def __init__(self, blocking: ConnectionTransaction) -> None:
        self._blocking = blocking
        self.native = AsyncConnection(blocking.native)

    async def perform(self, operation: Operation[R], /) -> R:
        return await sync_to_async(self._blocking.perform)(operation)

    async def commit(self) -> None:
        await sync_to_async(self._blocking.commit)()

    async def rollback(self) -> None:
        await sync_to_async(self._blocking.rollback)()


class AsyncConnection:
    """The statements of the application, with the methods of the drivers' async connections."""

    def __init__(self, native: Any) -> None:
        self._native = native

    async def execute(self, sql: str, parameters: Any = ()) -> AsyncCursor:
        """Execute a statement, with the placeholders of the driver."""
        return AsyncCursor(await sync_to_async(self._native.execute)(sql, parameters))


class AsyncCursor:
    """The result of a statement."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        return int(self._cursor.rowcount)

    async def fetchone(self) -> Any:
        return await sync_to_async(self._cursor.fetchone)()

    async def fetchall(self) -> list[Any]:
        rows: list[Any] = await sync_to_async(self._cursor.fetchall)()
        return rows
