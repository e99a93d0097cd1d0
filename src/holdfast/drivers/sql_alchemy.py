"""A plan on SQLAlchemy's sessions and connections, blocking and async."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, event
from sqlalchemy.orm import Session, scoped_session

from holdfast.sql.plan import Many, Row, Statement

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

_CALLBACKS = "holdfast.after_commit"


def blocking(tx: Any) -> SqlAlchemyDriver | None:
    """A driver for a blocking session or connection; None for anything else of SQLAlchemy's."""
    session = _unscoped(tx, scoped_session)
    return SqlAlchemyDriver(session) if isinstance(session, Session | Connection) else None


def asynchronous(tx: Any) -> AsyncSqlAlchemyDriver | None:
    """A driver for an async session or connection; None for anything else of SQLAlchemy's."""
    # Whoever has one has loaded the module. To load it for somebody who has none would ask for greenlet, which
    # SQLAlchemy does not bring along.
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
    """A session tells of its commit, a connection only beforehand, which is of no use to us."""

    def __init__(self, tx: Session | Connection) -> None:
        self._tx = tx

    def execute(self, step: Statement | Many, /) -> list[Row]:
        connection = self._alchemy()
        with _unlogged(connection):
            match step:
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

    def after_commit(self, tell: Callable[[], None], /) -> bool:
        if not isinstance(self._tx, Session):
            return False
        if _CALLBACKS not in self._tx.info:
            event.listen(self._tx, "after_commit", _tell)
            event.listen(self._tx, "after_rollback", _forget)
        callbacks: list[Callable[[], None]] = self._tx.info.setdefault(_CALLBACKS, [])
        callbacks.append(tell)
        return True

    def _alchemy(self) -> Connection:
        return self._tx.connection() if isinstance(self._tx, Session) else self._tx


class AsyncSqlAlchemyDriver:
    """The blocking driver, run where SQLAlchemy runs blocking code for async sessions."""

    def __init__(self, tx: AsyncSession | AsyncConnection, blocking: SqlAlchemyDriver) -> None:
        self._tx = tx
        self._blocking = blocking

    async def execute(self, step: Statement | Many, /) -> list[Row]:
        return await self._tx.run_sync(lambda _: self._blocking.execute(step))

    async def connection(self) -> Any:
        return await self._tx.run_sync(lambda _: self._blocking.connection())

    def after_commit(self, tell: Callable[[], None], /) -> bool:
        return self._blocking.after_commit(tell)


@contextmanager
def _unlogged(connection: Connection) -> Generator[None]:
    """Keep our statements out of the log of an engine with `echo`: their parameters are tokens and payloads."""
    logs: Any = connection
    echo = logs._echo
    logs._echo = False
    try:
        yield
    finally:
        logs._echo = echo


def _tell(session: Session) -> None:
    # Releasing a savepoint is called a commit, too.
    if not session.in_nested_transaction():
        callbacks, session.info[_CALLBACKS] = session.info[_CALLBACKS], []
        for tell in callbacks:
            tell()


def _forget(session: Session) -> None:
    # Going back to a savepoint is called a rollback, too. What it undid may then be told, which is only a hint.
    if not session.in_nested_transaction():
        session.info[_CALLBACKS] = []


def _unscoped(tx: Any, scoped: type[Any]) -> Any:
    """The session that a scoped one stands for."""
    return tx() if isinstance(tx, scoped) else tx
