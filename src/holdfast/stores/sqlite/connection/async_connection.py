"""The connection of a store's transaction for async code.

It has the part of the interface of aiosqlite that makes sense inside a transaction which only Holdfast may end.
Statements run in the transaction thread of the store, in the order in which they were requested.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from holdfast.stores.sql.lent_transaction import OVER

if TYPE_CHECKING:
    from holdfast.stores.sqlite.connection.lent_connection import LentConnection
    from holdfast.stores.sqlite.connection.threads import ThreadPool

R = TypeVar("R")
Parameters = Sequence[Any] | Mapping[str, Any]

_ROWS = 64
"""Rows that `async for` fetches with one request to the thread."""


class RequestQueue:
    """The requests of one transaction to the transaction thread: statements of the application, and our own work."""

    def __init__(self, thread: ThreadPool) -> None:
        self._thread = thread
        self.over = False
        """Whether the transaction has ended. Its connection may be in the next one, so statements are refused."""
        # Two counters, each changed by one thread only. A shared counter could lose an update.
        self._requested = 0
        self._done = 0

    @property
    def is_empty(self) -> bool:
        """Whether all requests are done, including those of cancelled tasks."""
        return self._requested == self._done

    async def finish(self, work: Callable[[], R]) -> R:
        """Do our own work after the earlier requests. A cancelled task waits until the work is done."""
        self._requested += 1
        return await self._thread.finish(partial(self._do, work))

    async def run(self, statement: Callable[[], R]) -> R:
        """Run a statement of the application after the earlier requests. A cancelled task does not wait for it."""
        self._requested += 1
        return await self._thread.run(partial(self._do, partial(self._run, statement)))

    def _run(self, statement: Callable[[], R]) -> R:
        if self.over:
            raise RuntimeError(OVER)
        return statement()

    def _do(self, work: Callable[[], R]) -> R:
        try:
            return work()
        finally:
            self._done += 1


class AsyncConnection:
    """A connection in an open transaction. Only Holdfast ends it: `commit`, `rollback` and `close` are refused."""

    def __init__(self, connection: LentConnection, requests: RequestQueue) -> None:
        self._connection = connection
        self._requests = requests
        self._guard = connection.guard
        self.track = connection.guard.unawaited.track
        """Remembers a statement, to detect a forgotten `await`."""

    def execute(self, sql: str, parameters: Parameters = ()) -> Opening[AsyncCursor]:
        """Run a statement. Await it, or use it with `async with`, which closes the cursor."""
        opening = self._open(lambda: self._connection.execute(sql, parameters))
        return Opening(self.track("tx.execute(...)", opening))

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> Opening[AsyncCursor]:
        opening = self._open(lambda: self._connection.executemany(sql, parameters))
        return Opening(self.track("tx.executemany(...)", opening))

    def cursor(self) -> Opening[AsyncCursor]:
        return Opening(self._open(self._connection.cursor))

    def execute_insert(self, sql: str, parameters: Parameters = ()) -> Coroutine[Any, Any, Any]:
        """Run an INSERT. Returns the row with the rowid."""

        def insert() -> Any:
            cursor = self._connection.execute(sql, parameters)
            cursor.execute("select last_insert_rowid()")
            return cursor.fetchone()

        return self.track("tx.execute_insert(...)", self._requests.run(insert))

    async def execute_fetchall(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Run a query. Returns all rows."""
        return await self._requests.run(lambda: self._connection.execute(sql, parameters).fetchall())

    async def executescript(self, sql_script: str) -> NoReturn:
        """Refused: sqlite3 commits before a script."""
        self._guard.refuse("executescript()")

    async def commit(self) -> NoReturn:
        self._guard.refuse("commit()")

    async def rollback(self) -> NoReturn:
        self._guard.refuse("rollback()")

    async def close(self) -> NoReturn:
        self._guard.refuse("close()")

    def __await__(self) -> NoReturn:
        self._guard.refuse("`await connection`")

    async def __aenter__(self) -> NoReturn:
        self._guard.refuse("`async with connection`")

    async def __aexit__(self, *_: object) -> None:
        """`__aenter__` is refused, so this is never called."""

    async def create_function(
        self, name: str, num_params: int, func: Callable[..., Any], deterministic: bool = False
    ) -> None:
        await self._requests.run(
            lambda: self._connection.create_function(name, num_params, func, deterministic=deterministic)
        )

    async def interrupt(self) -> None:
        """Abort the statement that runs now."""
        self._connection.interrupt()

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    @property
    def total_changes(self) -> int:
        return self._connection.total_changes

    @property
    def isolation_level(self) -> str | None:
        return self._connection.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        self._connection.isolation_level = value  # type: ignore[assignment]

    @property
    def row_factory(self) -> Any:
        return self._connection.row_factory

    @row_factory.setter
    def row_factory(self, factory: Any) -> None:
        self._connection.row_factory = factory

    @property
    def text_factory(self) -> Any:
        return self._connection.text_factory

    @text_factory.setter
    def text_factory(self, factory: Any) -> None:
        self._connection.text_factory = factory

    async def _open(self, open: Callable[[], sqlite3.Cursor]) -> AsyncCursor:
        return AsyncCursor(self, self._requests, await self._requests.run(open))


class AsyncCursor:
    """A cursor of an `AsyncConnection`."""

    def __init__(self, connection: AsyncConnection, requests: RequestQueue, cursor: sqlite3.Cursor) -> None:
        self.connection = connection
        self._requests = requests
        self._cursor = cursor

    def execute(self, sql: str, parameters: Parameters = ()) -> Coroutine[Any, Any, AsyncCursor]:
        call = self._run(lambda: self._cursor.execute(sql, parameters))
        return self.connection.track("cursor.execute(...)", call)

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> Coroutine[Any, Any, AsyncCursor]:
        call = self._run(lambda: self._cursor.executemany(sql, parameters))
        return self.connection.track("cursor.executemany(...)", call)

    async def executescript(self, sql_script: str) -> NoReturn:
        await self.connection.executescript(sql_script)

    async def fetchone(self) -> Any:
        return await self._requests.run(self._cursor.fetchone)

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        return await self._requests.run(lambda: self._cursor.fetchmany(self.arraysize if size is None else size))

    async def fetchall(self) -> list[Any]:
        return await self._requests.run(self._cursor.fetchall)

    async def close(self) -> None:
        await self._requests.run(self._cursor.close)

    async def __aiter__(self) -> AsyncIterator[Any]:
        while rows := await self.fetchmany(_ROWS):
            for row in rows:
                yield row

    async def __aenter__(self) -> AsyncCursor:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, statement: Callable[[], object]) -> AsyncCursor:
        await self._requests.run(statement)
        return self

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        return self._cursor.lastrowid

    @property
    def description(self) -> Any:
        return self._cursor.description

    @property
    def arraysize(self) -> int:
        return self._cursor.arraysize

    @arraysize.setter
    def arraysize(self, size: int) -> None:
        self._cursor.arraysize = size

    @property
    def row_factory(self) -> Any:
        return self._cursor.row_factory

    @row_factory.setter
    def row_factory(self, factory: Any) -> None:
        self._cursor.row_factory = factory


class Opening(Coroutine[Any, Any, R], Generic[R]):
    """A coroutine for a cursor that is also an async context manager: `await ...` or `async with ... as cursor`."""

    def __init__(self, coroutine: Coroutine[Any, Any, R]) -> None:
        self._coroutine = coroutine
        self._opened: Any = None

    def send(self, value: Any) -> Any:
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, R]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> R:
        self._opened = await self._coroutine
        return self._opened  # type: ignore[no-any-return]

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        await self._opened.close()
