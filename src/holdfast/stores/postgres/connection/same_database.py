"""Whether a connection of the application's leads to the store's own database."""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary, WeakSet

from psycopg.pq import Conninfo

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.errors import translated
from holdfast.stores.sql.plan import Plan, Statement

# Of what tells servers apart, the moment at which each began is what every role may ask for, also at those who host it.
_WHERE: Final = Statement(
    "select current_database()::text, (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint"
)


class _Place(NamedTuple):
    """A database, as it calls itself, of a server, known by when it began: the same by whatever way one came to it."""

    database: str
    server_began: int


class _Way(NamedTuple):
    """How a driver came to a database."""

    host: str
    port: int
    database: str


class Addressed(Protocol):
    """A store that has an address."""

    address: PostgresAddress


class Belonging:
    """What a store knows of the connections that it was given.

    Who went the same way arrived at the same place, and nothing is asked. Other ways may still lead there: by a
    pooler with names of its own, another name of the host, a socket. Then both sides are asked, each once.
    """

    @classmethod
    def of(cls, store: Addressed) -> Belonging:
        """The one of this store."""
        found = _KNOWN.get(store)
        return found if found is not None else _KNOWN.setdefault(store, cls(store.address))

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._way = _way_to(address)
        self._place: _Place | None = None
        self._ours: WeakSet[Any] = WeakSet()

    def check(self, connection: Any) -> Plan[None]:
        """ValueError for a driver's connection to another database. Nothing is written by then."""
        # What a pool of asyncpg lends stands for the connection behind it.
        connection = getattr(connection, "_con", connection)
        if connection in self._ours:
            return
        if self._way is None or _way_of(connection) != self._way:
            (row,) = yield _WHERE
            self._check_place(_Place(*row))
        with suppress(TypeError):  # one that nobody can refer to weakly is asked each time
            self._ours.add(connection)

    def _check_place(self, there: _Place) -> None:
        if there == self._place:
            return
        # Asked anew before it is held against anybody: the server may have begun anew since.
        # It blocks, in async code too, but only here: once for the ways that lead to us, and for those that do not.
        self._place = here = _ask(self._address)
        if there != here:
            other = there.database if there.database != here.database else f"{there.database} on another server"
            raise ValueError(
                f"tx is a connection to another database ({other}) than the store's ({self._address.name})"
            )


_KNOWN: WeakKeyDictionary[Addressed, Belonging] = WeakKeyDictionary()


def _ask(address: PostgresAddress) -> _Place:
    """Where a connection of the store's own leads."""
    try:
        link = connect(address, Renderer.of(address.schema, Style.NUMBERED), limited=False)
        try:
            (row,) = link.execute(_WHERE)
        finally:
            link.close()
    except Exception as error:
        raise translated(error, address.name, address.schema) from error
    return _Place(*row)


def _way_to(address: PostgresAddress) -> _Way | None:
    """How the store goes; None where libpq decides that for itself."""
    defaults = {option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val}
    said = {**defaults, **address.connection}
    if not said.get("host") or said.get("hostaddr") or said.get("service") or not str(said.get("port")).isdigit():
        return None
    return _Way(str(said["host"]), int(said["port"]), str(said.get("dbname") or said.get("user")))


def _way_of(connection: Any) -> _Way | None:
    """How a connection of the application's went; None where its driver does not tell."""
    if (info := getattr(connection, "info", None)) is not None:
        return _Way(info.host, int(info.port), info.dbname)
    # asyncpg has no public word for it; should it change its private ones, we ask.
    where, parameters = getattr(connection, "_addr", None), getattr(connection, "_params", None)
    database = getattr(parameters, "database", "")
    match where:
        case str():
            socket = PurePosixPath(where)
            port = socket.suffix[1:]
            return _Way(str(socket.parent), int(port), database) if port.isdigit() else None
        case (str(host), int(port)):
            return _Way(host, port, database)
        case _:
            return None
