"""Checks that a connection of the application leads to the database of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary, WeakSet

from psycopg.pq import Conninfo

from holdfast.engine.store import OtherDatabase
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.errors import translated
from holdfast.stores.sql.plan import Row, Statement

# The start time identifies the server. Every role may read it, also on hosted servers.
_IDENTITY: Final = Statement(
    "select current_database()::text, (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint", ()
)


class _Database(NamedTuple):
    """The identity of a database: its name, and the start time of its server. Independent of host names and poolers."""

    name: str
    server_started: int


class _Endpoint(NamedTuple):
    """The host, port and database name that a driver connected to."""

    host: str
    port: int
    database: str


class Addressed(Protocol):
    """A store that has an address."""

    address: PostgresAddress


class SameDatabase:
    """The connections of the application that are known to lead to the database of a store.

    Same host, port and database name: assume the same database. Another endpoint may still lead to the same database:
    through a pooler, another host name or a Unix socket. Then both servers are asked for their identity.
    """

    @classmethod
    def of(cls, store: Addressed) -> SameDatabase:
        """The instance of this store."""
        found = _INSTANCES.get(store)
        return found if found is not None else _INSTANCES.setdefault(store, cls(store.address))

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._endpoint = _store_endpoint(address)
        self._database: _Database | None = None
        self._known: WeakSet[Any] = WeakSet()

    def check(self, connection: Any, execute: Callable[[Statement], list[Row]]) -> None:
        """Raises OtherDatabase for a connection to another database. `execute` runs a statement on the connection."""
        connection = _driver_connection(connection)
        if self._is_same_endpoint(connection):
            return
        (row,) = execute(_IDENTITY)
        if (found := _Database(*row)) != self._database:
            # The cached identity may be outdated: the server may have restarted since.
            self._database = _read_identity(self._address)
            self._compare(found, self._database)
        self._remember(connection)

    async def check_async(self, connection: Any, execute: Callable[[Statement], Awaitable[list[Row]]]) -> None:
        """The async variant of `check`. The store's own connection is opened in a thread."""
        connection = _driver_connection(connection)
        if self._is_same_endpoint(connection):
            return
        (row,) = await execute(_IDENTITY)
        if (found := _Database(*row)) != self._database:
            self._database = await asyncio.to_thread(_read_identity, self._address)
            self._compare(found, self._database)
        self._remember(connection)

    def _is_same_endpoint(self, connection: Any) -> bool:
        if connection in self._known:
            return True
        if self._endpoint is None or _endpoint_of(connection) != self._endpoint:
            return False
        self._remember(connection)
        return True

    def _remember(self, connection: Any) -> None:
        with suppress(TypeError):  # a class without weak references is checked each time
            self._known.add(connection)

    def _compare(self, found: _Database, ours: _Database) -> None:
        if found != ours:
            other = found.name if found.name != ours.name else f"{found.name} on another server"
            raise OtherDatabase(
                f"tx is a connection to another database ({other}) than the store's ({self._address.name})"
            )


_INSTANCES: WeakKeyDictionary[Addressed, SameDatabase] = WeakKeyDictionary()


def _driver_connection(connection: Any) -> Any:
    """The connection behind a proxy that a pool of asyncpg returned."""
    return getattr(connection, "_con", connection)


def _read_identity(address: PostgresAddress) -> _Database:
    """Open a connection of the store, and ask the server for its identity."""
    try:
        connection = connect(address, Renderer.of(address.schema, Style.NUMBERED), limited=False)
        try:
            (row,) = connection.execute(_IDENTITY)
        finally:
            connection.close()
    except Exception as error:
        raise translated(error, address.name, address.schema) from error
    return _Database(*row)


def _store_endpoint(address: PostgresAddress) -> _Endpoint | None:
    """The endpoint of the store; None if libpq chooses it, for example from a list of hosts."""
    defaults = {option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val}
    given = {**defaults, **address.connection}
    if not given.get("host") or given.get("hostaddr") or given.get("service") or not str(given.get("port")).isdigit():
        return None
    return _Endpoint(str(given["host"]), int(given["port"]), str(given.get("dbname") or given.get("user")))


def _endpoint_of(connection: Any) -> _Endpoint | None:
    """The endpoint of a connection of the application; None if its driver does not expose it."""
    if (info := getattr(connection, "info", None)) is not None:
        return _Endpoint(info.host, int(info.port), info.dbname)
    # asyncpg exposes it only by private attributes. If a later version renames them, the servers are asked.
    where, parameters = getattr(connection, "_addr", None), getattr(connection, "_params", None)
    database = getattr(parameters, "database", "")
    match where:
        case str():
            socket = PurePosixPath(where)
            port = socket.suffix[1:]
            return _Endpoint(str(socket.parent), int(port), database) if port.isdigit() else None
        case (str(host), int(port)):
            return _Endpoint(host, port, database)
        case _:
            return None
