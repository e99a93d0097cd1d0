"""The drivers for connections of psycopg 3, blocking and async."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from holdfast.engine.generators import drive_async
from holdfast.stores.sql.plan import Many, Plan, Row, Statement

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection

R = TypeVar("R")


class PsycopgDriver:
    """This connection has no commit hook."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        assert isinstance(instruction, Statement)
        # The application may have set another row factory.
        with self._connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(instruction.sql.encode(), instruction.parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def connection(self) -> Connection[Any]:
        return self._connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return _is_open(self._connection)


class AsyncPsycopgDriver:
    """The same for an async connection."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def run(self, plan: Plan[R], /) -> R:
        return await drive_async(plan, self.execute)

    async def execute(self, instruction: Statement | Many, /) -> list[Row]:
        assert isinstance(instruction, Statement)
        async with self._connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(instruction.sql.encode(), instruction.parameters)
            return await cursor.fetchall() if cursor.description is not None else []

    async def connection(self) -> AsyncConnection[Any]:
        return self._connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return _is_open(self._connection)


def _is_open(connection: Connection[Any] | AsyncConnection[Any]) -> bool:
    return not connection.closed and connection.info.transaction_status is not TransactionStatus.IDLE
