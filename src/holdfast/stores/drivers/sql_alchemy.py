"""The drivers for sessions and connections of SQLAlchemy, blocking and async."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.orm import Session, SessionTransaction, scoped_session

from holdfast.engine.generators import drive_async
from holdfast.stores.sql.plan import Many, Plan, Row, Statement

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

R = TypeVar("R")

_CALLBACKS = "holdfast.after_commit"
_ENGINE_LOGGER = "sqlalchemy.engine.Engine"
"""The logger of every engine. An engine with a `logging_name` uses the child of this name."""

_executing: ContextVar[bool] = ContextVar("holdfast_executing", default=False)
"""Whether this thread or task executes one of our statements."""


def blocking(tx: Any) -> SqlAlchemyDriver | None:
    """A driver for a blocking session or connection; None for other objects of SQLAlchemy."""
    session = _unscoped(tx, scoped_session)
    return SqlAlchemyDriver(session) if isinstance(session, Session | Connection) else None


def asynchronous(tx: Any) -> AsyncSqlAlchemyDriver | None:
    """A driver for an async session or connection; None for other objects of SQLAlchemy."""
    # An application with an async session has imported this module. Importing it here would need greenlet, which
    # SQLAlchemy does not install by itself.
    if "sqlalchemy.ext.asyncio" not in sys.modules:
        return None
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

    session = _unscoped(tx, async_scoped_session)
    if isinstance(session, AsyncSession):
        return AsyncSqlAlchemyDriver(session, SqlAlchemyDriver(session.sync_session))
    if isinstance(session, AsyncConnection):
        return AsyncSqlAlchemyDriver(session, SqlAlchemyDriver(session.sync_connection))  # type: ignore[arg-type]
    return None


class SqlAlchemyDriver:
    """A session has an event after its commit. A connection has only an event before its commit, which is too early."""

    def __init__(self, tx: Session | Connection) -> None:
        self._tx = tx

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        connection = self._alchemy()
        with _unlogged(connection):
            match instruction:
                case Statement(sql, parameters):
                    given = parameters if isinstance(parameters, tuple) else dict(parameters)
                    result = connection.exec_driver_sql(sql, given)
                    return [tuple(row) for row in result] if result.returns_rows else []
                case Many(sql, parameters):
                    if parameters:
                        connection.exec_driver_sql(sql, list(parameters))
                    return []

    def connection(self) -> Any:
        return self._alchemy().connection.driver_connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        session = self._tx
        if not isinstance(session, Session) or _joins_another(session):
            return False
        if _CALLBACKS not in session.info:
            event.listen(session, "after_commit", _send)
            event.listen(session, "after_soft_rollback", _discard)
            event.listen(session, "after_transaction_end", _clear)
        _callbacks(session).append((send, open_transactions(session)))
        return True

    def is_open(self) -> bool:
        connection = self._tx.get_bind() if isinstance(self._tx, Session) else self._tx
        return isinstance(connection, Connection) and connection.in_transaction()

    def _alchemy(self) -> Connection:
        return self._tx.connection() if isinstance(self._tx, Session) else self._tx


class AsyncSqlAlchemyDriver:
    """The blocking driver inside `run_sync`, the way of SQLAlchemy to run blocking code on async sessions."""

    def __init__(self, tx: AsyncSession | AsyncConnection, blocking: SqlAlchemyDriver) -> None:
        self._tx = tx
        self._blocking = blocking

    async def run(self, plan: Plan[R], /) -> R:
        return await drive_async(plan, self.execute)

    async def execute(self, instruction: Statement | Many, /) -> list[Row]:
        return await self._tx.run_sync(lambda _: self._blocking.execute(instruction))

    async def connection(self) -> Any:
        return await self._tx.run_sync(lambda _: self._blocking.connection())

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return self._blocking.after_commit(send)

    def is_open(self) -> bool:
        return self._blocking.is_open()


_Callback = tuple[Callable[[], None], "tuple[SessionTransaction, ...]"]
"""A callback, and the transactions whose rollback discards it: the open savepoints and the outermost transaction."""


def _callbacks(session: Session) -> list[_Callback]:
    callbacks: list[_Callback] = session.info.setdefault(_CALLBACKS, [])
    return callbacks


def open_transactions(session: Session) -> tuple[SessionTransaction, ...]:
    """The open savepoints of a session, innermost first, and its outermost transaction."""
    found: list[SessionTransaction] = []
    transaction = session.get_nested_transaction() or session.get_transaction()
    while transaction is not None:
        found.append(transaction)
        transaction = transaction.parent
    return tuple(found)


def _joins_another(session: Session) -> bool:
    """Whether a commit of the session does not commit the transaction of its connection.

    The session is bound to a connection, or the connection has a savepoint that the session did not create.
    """
    if isinstance(session.get_bind(), Connection):
        return True
    return session.connection().in_nested_transaction() and not session.in_nested_transaction()


@contextmanager
def _unlogged(connection: Connection) -> Generator[None]:
    """Keep our statements out of the log of the engine: their parameters are tokens and payloads.

    Only records of this task are dropped: other tasks use the same engine, and their statements are still logged.
    """
    name = connection.engine.logging_name
    logging.getLogger(_ENGINE_LOGGER if name is None else f"{_ENGINE_LOGGER}.{name}").addFilter(_is_logged)
    reset = _executing.set(True)
    try:
        yield
    finally:
        _executing.reset(reset)


def _is_logged(record: logging.LogRecord) -> bool:
    return not _executing.get()


def _send(session: Session) -> None:
    # SQLAlchemy reports the release of a savepoint as a commit, too.
    if not session.in_nested_transaction():
        callbacks, session.info[_CALLBACKS] = _callbacks(session), []
        for send, _ in callbacks:
            send()


def _discard(session: Session, ended: SessionTransaction) -> None:
    session.info[_CALLBACKS] = [each for each in _callbacks(session) if ended not in each[1]]


def _clear(session: Session, ended: SessionTransaction) -> None:
    # `session.close()` rolls back without the event of a rollback.
    if ended.parent is None:
        session.info[_CALLBACKS] = []


def _unscoped(tx: Any, scoped: type[Any]) -> Any:
    """The session behind a scoped session."""
    return tx() if isinstance(tx, scoped) else tx
