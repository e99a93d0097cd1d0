"""The driver for an `asyncpg.Connection`. Its parameters are numbered, so a statement has a tuple of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.engine.generators import drive_async
from holdfast.stores.sql.plan import Many, Plan, Row, Statement

R = TypeVar("R")


class AsyncpgDriver:
    """This connection has no commit hook."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def run(self, plan: Plan[R], /) -> R:
        return await drive_async(plan, self.execute)

    async def execute(self, instruction: Statement | Many, /) -> list[Row]:
        assert isinstance(instruction, Statement)
        return [tuple(row) for row in await self._connection.fetch(instruction.sql, *instruction.parameters)]

    async def connection(self) -> Any:
        return self._connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return not self._connection.is_closed() and self._connection.is_in_transaction()
