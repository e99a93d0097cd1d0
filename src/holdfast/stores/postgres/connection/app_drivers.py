"""Chooses the driver for a connection of the application: psycopg, asyncpg, SQLAlchemy or Django."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from holdfast.stores.sql.driver import AsyncDriver, Driver

_BLOCKING = (
    "a psycopg Connection, a SQLAlchemy Session or Connection, or Django's connection or the alias of a database"
)
_ASYNC = "a psycopg AsyncConnection, an asyncpg Connection, or a SQLAlchemy AsyncSession or AsyncConnection"


def blocking_driver(tx: Any) -> Driver:
    """The driver for a blocking connection of the application. The text of a TypeError lists the accepted classes."""
    if _is(tx, "psycopg", "Connection"):
        from holdfast.stores.drivers.psycopg3 import PsycopgDriver

        return PsycopgDriver(tx)
    if isinstance(tx, str) and find_spec("django") is None:
        raise TypeError(
            "a text as tx is an alias of Django's, and Django is not installed: pass a connection or a session"
        )
    if (isinstance(tx, str) or comes_from(tx, "django")) and (driver := _django(tx)) is not None:
        return driver
    if comes_from(tx, "sqlalchemy"):
        from holdfast.stores.drivers import sql_alchemy

        if (driver := sql_alchemy.blocking(tx)) is not None:
            return driver
    if _is_async(tx):
        raise TypeError(f"{class_name(tx)} is async: it belongs to Client. SyncClient takes {_BLOCKING}")
    raise TypeError(f"tx is {class_name(tx)}; this store takes {_BLOCKING}")


def async_driver(tx: Any) -> AsyncDriver:
    """The driver for an async connection of the application. The text of a TypeError lists the accepted classes."""
    if _is(tx, "psycopg", "AsyncConnection"):
        from holdfast.stores.drivers.psycopg3 import AsyncPsycopgDriver

        return AsyncPsycopgDriver(tx)
    if comes_from(tx, "asyncpg") and hasattr(tx, "is_in_transaction"):
        from holdfast.stores.drivers.asyncpg import AsyncpgDriver

        return AsyncpgDriver(tx)
    if comes_from(tx, "sqlalchemy"):
        from holdfast.stores.drivers import sql_alchemy

        if (driver := sql_alchemy.asynchronous(tx)) is not None:
            return driver
        if sql_alchemy.blocking(tx) is not None:
            raise TypeError(f"{class_name(tx)} is blocking: it belongs to SyncClient. Client takes {_ASYNC}")
    if _is(tx, "psycopg", "Connection") or isinstance(tx, str) or comes_from(tx, "django"):
        raise TypeError(f"{class_name(tx)} is blocking: it belongs to SyncClient. Client takes {_ASYNC}")
    raise TypeError(f"tx is {class_name(tx)}; this store takes {_ASYNC}")


def native_connection(connection: Any) -> Any:
    """The connection of the driver, behind the wrapper of Django."""
    if not comes_from(connection, "django"):
        return connection
    connection.ensure_connection()
    return connection.connection


def _django(tx: Any) -> Driver | None:
    from django.db import connections
    from django.db.backends.base.base import BaseDatabaseWrapper

    from holdfast.stores.drivers.django_postgres import DjangoPostgresDriver

    # `django.db.connection` is a proxy for the default alias of the current thread.
    wrapper = connections[tx] if isinstance(tx, str) else connections[tx.alias] if hasattr(tx, "alias") else None
    if not isinstance(wrapper, BaseDatabaseWrapper):
        return None
    if wrapper.vendor != "postgresql":
        raise ValueError(f"database {wrapper.alias!r} of Django is {wrapper.vendor}, not PostgreSQL")
    return DjangoPostgresDriver(wrapper)


def _is(tx: Any, package: str, name: str) -> bool:
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == package for kind in type(tx).__mro__)


def comes_from(tx: Any, *packages: str) -> bool:
    return any(kind.__module__.partition(".")[0] in packages for kind in type(tx).__mro__)


def _is_async(tx: Any) -> bool:
    return comes_from(tx, "asyncpg") or any(kind.__name__.lower().startswith("async") for kind in type(tx).__mro__)


def class_name(tx: Any) -> str:
    return f"{type(tx).__module__.partition('.')[0]}'s {type(tx).__qualname__}"
