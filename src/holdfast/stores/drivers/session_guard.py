"""Guards the application's session during a transaction of the store: only the store may end it."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from typing import Any

from holdfast.stores.sql.lent_transaction import TransactionGuard, ended

_CONNECTION = ("commit", "rollback", "close", "begin", "begin_twophase", "invalidate", "detach")
_SESSION = ("commit", "rollback", "close", "begin", "prepare", "reset", "invalidate")

_TRANSACTION = 22
"""SQLITE_TRANSACTION: a statement that begins or ends a transaction. Python 3.11 has no name for it."""


class SessionGuard:
    """Rejects calls that would end the transaction of a session, until `take_back`.

    The session is a session or connection of SQLAlchemy, or a connection of a driver. Calls on the driver's connection
    below a session are not rejected. The store detects that the transaction has ended.
    """

    def __init__(self, native: Any) -> None:
        self._guard = TransactionGuard()
        self._replaced: list[tuple[Any, str]] = []
        self._lent = True
        self._rolled_back = False
        self._session: Any = None
        self._subject = subject = _unwrapped(native)
        if "sqlalchemy.orm" in sys.modules and isinstance(subject, sys.modules["sqlalchemy.orm"].Session):
            from sqlalchemy import event

            self._session = subject
            self._reject(subject, _SESSION)
            event.listen(subject, "after_begin", self._guard_begun)
            if subject.in_transaction():
                self._guard_connection(subject.connection())
        elif "sqlalchemy" in sys.modules and isinstance(subject, sys.modules["sqlalchemy"].Connection):
            self._guard_connection(subject)
        elif type(subject) is sqlite3.Connection:
            self._guard_sqlite(subject)
        else:
            self._reject(subject, ("commit", "rollback", "close"))

    def check(self) -> None:
        """RuntimeError if the application ended the transaction, or tried to."""
        self._guard.check()
        # After a failed flush SQLAlchemy rolls back by itself, and raises an error at the next use of the session.
        if self._rolled_back and (self._session is None or self._session.is_active):
            raise ended()

    @property
    def has_savepoint(self) -> bool:
        """Whether a savepoint of SQLAlchemy is open."""
        return hasattr(self._subject, "in_nested_transaction") and bool(self._subject.in_nested_transaction())

    def commit_savepoints(self, _session: object = None) -> None:
        """Commit the open savepoints, like a commit of the session. SQLite releases them with that of the store."""
        while self.has_savepoint:
            self._subject.get_nested_transaction().commit()

    def take_back(self) -> None:
        """Allow all calls again, for the commit or rollback of the store."""
        self._lent = False
        for subject, name in self._replaced:
            subject.__dict__.pop(name, None)
        self._replaced.clear()

    def _reject(self, subject: Any, names: tuple[str, ...]) -> None:
        for name in names:
            method = getattr(subject, name, None)
            if method is not None:
                vars(subject)[name] = self._replacement(name, method)
                self._replaced.append((subject, name))

    def _replacement(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        match name:
            case "begin":
                return self._begin_nested(method)
            case "invalidate":
                return self._invalidate_lost(method)
            case _:
                return lambda *_, **__: self._guard.refuse(f"{name}()")

    def _begin_nested(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        """The method `begin` of a session, which may begin a savepoint only."""

        def begin_nested(nested: bool = False) -> Any:
            return begin(nested=True) if nested else self._guard.refuse("begin()")

        return begin_nested

    def _invalidate_lost(self, invalidate: Callable[..., Any]) -> Callable[..., Any]:
        """The method `invalidate` of a connection. SQLAlchemy passes the error of a connection that was lost."""

        def invalidate_lost(exception: BaseException | None = None) -> Any:
            return self._guard.refuse("invalidate()") if exception is None else invalidate(exception)

        return invalidate_lost

    def _guard_begun(self, _session: Any, _transaction: Any, connection: Any) -> None:
        self._guard_connection(connection)

    def _guard_connection(self, connection: Any) -> None:
        if not self._lent or any(subject is connection for subject, _ in self._replaced):
            return
        from sqlalchemy import event

        self._reject(connection, _CONNECTION)
        event.listen(connection, "commit", self._before_commit)
        event.listen(connection, "rollback", self._before_rollback)
        event.listen(connection, "before_cursor_execute", self._before_statement)

    def _before_commit(self, _connection: Any) -> None:
        if self._lent:
            self._guard.refuse("commit()")

    def _before_rollback(self, _connection: Any) -> None:
        if self._lent:
            self._rolled_back = True

    def _before_statement(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if self._lent:
            self._guard.refuse_statement(statement)

    def _guard_sqlite(self, connection: sqlite3.Connection) -> None:
        def authorize(action: int, command: str | None, *_: str | None) -> int:
            if action != _TRANSACTION or not self._lent:
                return sqlite3.SQLITE_OK
            try:
                self._guard.refuse(command or "this statement")
            except RuntimeError:
                return sqlite3.SQLITE_DENY

        connection.set_authorizer(authorize)


def _unwrapped(native: Any) -> Any:
    """The blocking session or connection behind an async or a scoped one."""
    for name in ("scoped_session", "async_scoped_session"):
        if any(kind.__name__ == name for kind in type(native).__mro__):
            native = native()
    for name in ("sync_session", "sync_connection"):
        if (behind := getattr(native, name, None)) is not None:
            return behind
    return native
