"""Connections lent to the application for one transaction, which only the store commits or rolls back."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final, NoReturn, TypeVar, cast

import psycopg
from psycopg import pq, sql

from holdfast.stores.sql.lent_transaction import OVER, TransactionGuard

BUSY: Final = (
    "the connection of this transaction is busy: a statement of the application has results that were not read, or a "
    "pipeline, a COPY or a stream() is open. Nothing of the job was written. Read all results, and leave the pipeline, "
    "the COPY or the stream before the block ends, and before operations of Holdfast in this transaction"
)


class _Refusing:
    """The common part of the blocking and the async connection.

    A lent connection is a shallow copy of the store's: it shares the socket, the lock and the prepared statements.
    Settings of the application (row factory, adapters) affect only the copy.
    """

    lending: TransactionGuard
    _server: pq.abc.PGconn

    @property
    def pgconn(self) -> pq.abc.PGconn:
        """The connection of libpq. Code that has it can end the transaction, so the commit checks its id."""
        self.lending.used = True
        return self._server

    def check_open(self) -> None:
        """Raises RuntimeError if the application ended the transaction, or tried to: statements would autocommit."""
        self._note_status()
        self.lending.check()

    def check_idle(self) -> None:
        """Raises RuntimeError if a statement of the application is unfinished: the store would read its results.

        The caller holds the lock of the connection, so no other thread or task executes a statement.
        """
        in_pipeline = self._server.pipeline_status != pq.PipelineStatus.OFF
        if in_pipeline or self._server.transaction_status == pq.TransactionStatus.ACTIVE:
            raise RuntimeError(BUSY)

    def _note_status(self) -> None:
        """Detect that a statement of the application ended the transaction."""
        if self._server.transaction_status == pq.TransactionStatus.IDLE:
            self.lending.ended = True

    def _note_use(self) -> None:
        if self.lending.over:
            raise RuntimeError(OVER)
        self.lending.used = True

    def __del__(self, __warn: Any = None) -> None:
        """Does nothing: the store closes the connection."""


L = TypeVar("L", bound=_Refusing)


class LentCursor(psycopg.Cursor[Any]):
    """Rejects statements that would end the transaction."""

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        _check_statement(self.connection, query)
        return super().execute(query, *args, **options)

    def executemany(self, query: Any, *args: Any, **options: Any) -> None:
        _check_statement(self.connection, query)
        super().executemany(query, *args, **options)

    def stream(self, query: Any, *args: Any, **options: Any) -> Any:
        _check_statement(self.connection, query)
        return super().stream(query, *args, **options)


class AsyncLentCursor(psycopg.AsyncCursor[Any]):
    """The async variant of `LentCursor`. It also detects a forgotten `await`."""

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        return _tracked(self.connection, "cursor.execute(...)", self._checked_execute(query, *args, **options))

    def executemany(self, query: Any, *args: Any, **options: Any) -> Any:
        return _tracked(self.connection, "cursor.executemany(...)", self._checked_executemany(query, *args, **options))

    async def _checked_execute(self, query: Any, *args: Any, **options: Any) -> Any:
        _check_statement(self.connection, query)
        return await super().execute(query, *args, **options)

    async def _checked_executemany(self, query: Any, *args: Any, **options: Any) -> None:
        _check_statement(self.connection, query)
        await super().executemany(query, *args, **options)

    def stream(self, query: Any, *args: Any, **options: Any) -> Any:
        _check_statement(self.connection, query)
        return super().stream(query, *args, **options)


class LentConnection(_Refusing, psycopg.Connection[Any]):  # type: ignore[override]  # pgconn is read-only here
    """A blocking connection."""

    def __enter__(self) -> NoReturn:
        self.lending.refuse("`with connection`")

    def commit(self) -> NoReturn:
        self.lending.refuse("commit()")

    def rollback(self) -> NoReturn:
        self.lending.refuse("rollback()")

    def close(self) -> NoReturn:
        self.lending.refuse("close()")

    def wait(self, *args: Any, **options: Any) -> Any:
        """psycopg calls this for everything that it sends."""
        self._note_use()
        try:
            return super().wait(*args, **options)
        finally:
            self._note_status()


class AsyncLentConnection(_Refusing, psycopg.AsyncConnection[Any]):  # type: ignore[override]  # as above
    """An async connection."""

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        return _tracked(self, "tx.execute(...)", super().execute(query, *args, **options))

    async def __aenter__(self) -> NoReturn:
        self.lending.refuse("`async with connection`")

    async def commit(self) -> NoReturn:
        self.lending.refuse("commit()")

    async def rollback(self) -> NoReturn:
        self.lending.refuse("rollback()")

    async def close(self) -> NoReturn:
        self.lending.refuse("close()")

    async def wait(self, *args: Any, **options: Any) -> Any:
        self._note_use()
        try:
            return await super().wait(*args, **options)
        finally:
            self._note_status()


def lend(connection: psycopg.Connection) -> LentConnection:
    """A copy of the connection for the application."""
    lent = _copied(connection, LentConnection)
    lent.cursor_factory = LentCursor
    return lent


def lend_async(connection: psycopg.AsyncConnection) -> AsyncLentConnection:
    """The async variant of `lend`."""
    lent = _copied(connection, AsyncLentConnection)
    lent.cursor_factory = AsyncLentCursor
    return lent


def _copied(connection: Any, kind: type[L]) -> L:
    lent = object.__new__(kind)
    lent.__dict__.update(connection.__dict__)
    lent._server = lent.__dict__.pop("pgconn")  # pyright: ignore[reportPrivateUsage]
    lent.lending = TransactionGuard()
    return lent


def _tracked(connection: Any, name: str, call: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
    return cast("_Refusing", connection).lending.unawaited.track(name, call)


def _check_statement(connection: Any, query: Any) -> None:
    match query:
        case str():
            text = query
        case bytes():
            text = query.decode("latin-1")
        case sql.Composable():
            text = query.as_string(connection)
        case _:
            return  # a template string: `_note_status` detects its effect afterwards
    cast("_Refusing", connection).lending.refuse_statement(text)
