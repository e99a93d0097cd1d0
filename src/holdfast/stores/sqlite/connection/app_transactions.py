"""The application's connections that the store accepts as `tx=`, and the checks before it uses one."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakSet

from holdfast.engine.operations import Guard, LockChain, Operation
from holdfast.engine.store import OtherDatabase
from holdfast.stores.sql.driver import AsyncDriver, Driver
from holdfast.stores.sql.lent_transaction import SAME_TRANSACTION, TransactionIdentity, ended
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.connection.async_connection import AsyncConnection
from holdfast.stores.sqlite.connection.connect import SAFE_WAL
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs.plans import plan

R = TypeVar("R")

_TAKE_WRITE_LOCK = SQL["take_write_lock"]

_BLOCKING = "a sqlite3.Connection, a SQLAlchemy Session or Connection, or Django's connection or alias"
_ASYNC = "an aiosqlite.Connection, or a SQLAlchemy AsyncSession or AsyncConnection"

SAVEPOINT = "holdfast_completing"
"""A savepoint. It disappears when the application ends its transaction. SQLite has no transaction ids."""

_LEGACY = -1
"""sqlite3.LEGACY_TRANSACTION_CONTROL. Python 3.11 does not have it."""


def blocking_driver(tx: Any) -> Driver:
    """A driver for the application's blocking connection. The TypeError names the accepted types."""
    if isinstance(tx, sqlite3.Connection):
        from holdfast.stores.drivers.sqlite import SqliteDriver

        _refuse_autocommit(tx)
        return SqliteDriver(tx)
    if _comes_from(tx, "sqlalchemy"):
        from holdfast.stores.drivers import sql_alchemy

        if (driver := sql_alchemy.blocking(tx)) is not None:
            return driver
    if (isinstance(tx, str) and "django" in sys.modules) or _comes_from(tx, "django"):
        from holdfast.stores.drivers import django_sqlite

        if (wrapper := django_sqlite.blocking(tx)) is not None:
            return wrapper
    if _is_async(tx):
        raise TypeError(f"{_kind(tx)} is async: it belongs to Client. SyncClient takes {_BLOCKING}")
    raise TypeError(f"tx is {_kind(tx)}; this store takes {_BLOCKING}")


def async_driver(tx: Any) -> AsyncDriver:
    """A driver for the application's async connection. The TypeError names the accepted types."""
    if _comes_from(tx, "aiosqlite") or isinstance(tx, AsyncConnection):
        from holdfast.stores.drivers.aio_sqlite import AioSqliteDriver

        _refuse_autocommit(tx)
        return AioSqliteDriver(cast(Any, tx))
    if _comes_from(tx, "sqlalchemy"):
        from holdfast.stores.drivers import sql_alchemy

        if (driver := sql_alchemy.asynchronous(tx)) is not None:
            return driver
        if sql_alchemy.blocking(tx) is not None:
            raise TypeError(f"{_kind(tx)} is blocking: it belongs to SyncClient. Client takes {_ASYNC}")
    if isinstance(tx, sqlite3.Connection) or _comes_from(tx, "django"):
        raise TypeError(f"{_kind(tx)} is blocking: it belongs to SyncClient. Client takes {_ASYNC}")
    raise TypeError(f"tx is {_kind(tx)}; this store takes {_ASYNC}")


class CheckedConnections:
    """The connections of aiosqlite that lead to the file of the store. Each of their statements is a thread switch.

    Connections of sqlite3 have no weak references, and those of SQLAlchemy may change the connection below them.
    """

    def __init__(self) -> None:
        self._connections: WeakSet[Any] = WeakSet()

    def __contains__(self, connection: object) -> bool:
        return connection in self._connections

    def add(self, connection: Any) -> None:
        if _comes_from(connection, "aiosqlite"):
            self._connections.add(connection)


def joined(
    operation: Operation[R],
    context: PlanContext,
    connection: Any,
    *,
    path: Path | None,
    identity: TransactionIdentity,
    checked: bool = False,
) -> Plan[R]:
    """The plan of an operation inside the application's transaction. Without a path, the database is not checked.

    `checked`: the connection has performed an operation before.
    """
    _refuse_foreign(connection)
    identity.check(is_open=connection.in_transaction)
    # Before the check for a transaction: SQLAlchemy begins one with the first statement.
    if path is not None and not checked:
        yield from _check_file(path)
    _refuse_autocommit(connection)
    if not SAFE_WAL and not checked:
        # Its commit must not checkpoint. The connections of the store do it.
        yield Statement("pragma wal_autocheckpoint=0")
    if operation.writes:
        yield Statement(_TAKE_WRITE_LOCK)
        if not connection.in_transaction:
            raise _autocommits()
    if operation.verb in SAME_TRANSACTION and identity.id is not None:
        yield from _release_savepoint(identity)
    answer = yield from plan(operation, context)
    if operation.verb in (LockChain.verb, Guard.verb):
        identity.holds_locks, identity.borrowed = True, operation.verb == LockChain.verb
        yield Statement(f"savepoint {SAVEPOINT}")
        identity.id = 0
    return answer


def _release_savepoint(identity: TransactionIdentity) -> Plan[None]:
    """A missing savepoint means that the application ended the transaction."""
    try:
        yield Statement(f"release {SAVEPOINT}")
    except Exception as error:
        if f"no such savepoint: {SAVEPOINT}" in str(error):
            raise ended(borrowed=identity.borrowed) from error
        raise
    identity.id = None


def _check_file(path: Path) -> Plan[None]:
    rows = yield Statement("pragma database_list")
    [file] = [file for _, name, file in rows if name == "main"]
    if file != str(path) and (not file or not Path(file).samefile(path)):
        other = file or "in memory"
        raise OtherDatabase(f"tx is a connection to another database ({other}) than the store's ({path})")


def _refuse_foreign(connection: Any) -> None:
    if not hasattr(connection, "in_transaction"):
        raise OtherDatabase(f"tx gives {_kind(connection)}, which is not a connection to a SQLite database")


def _refuse_autocommit(connection: Any) -> None:
    if connection.in_transaction:
        return
    autocommit = getattr(connection, "autocommit", _LEGACY)
    if autocommit is True or (autocommit == _LEGACY and connection.isolation_level is None):
        raise _autocommits()


def _autocommits() -> ValueError:
    return ValueError(
        "tx would commit each statement by itself: begin a transaction on it first, with BEGIN IMMEDIATE, "
        "or leave tx out"
    )


def _comes_from(tx: Any, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(tx).__mro__)


def _is_async(tx: Any) -> bool:
    return _comes_from(tx, "aiosqlite") or any(kind.__name__.lower().startswith("async") for kind in type(tx).__mro__)


def _kind(tx: Any) -> str:
    return f"{type(tx).__module__.partition('.')[0]}'s {type(tx).__qualname__}"
