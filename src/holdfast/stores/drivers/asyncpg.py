"""A plan on an `asyncpg.Connection`. Its parameters are numbered, so a statement comes with a tuple of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.stores.sql.plan import Many, Row, Statement


class AsyncpgDriver:
    """Nothing tells of this connection's commit."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def execute(self, step: Statement | Many, /) -> list[Row]:
        assert isinstance(step, Statement)
        return [tuple(row) for row in await self._connection.fetch(step.sql, *step.parameters)]

    async def connection(self) -> Any:
        return self._connection

    def after_commit(self, emit: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return not self._connection.is_closed() and self._connection.is_in_transaction()
