"""The address of a PostgreSQL store.

`postgresql://user:password@host:port/database?schema=NAME&pool=N&deadline=SECONDS&notify=off&replica=ADDRESS`;
all other options are passed to libpq. libpq tries a list of hosts in order, and `target_session_attrs=read-write` finds
the primary. The address of the replica has the same form, with `%26` in place of `&`. Parts that it omits (user,
password, database, ...) are taken from the primary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlunsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from holdfast.stores.password_escaping import split

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,30}")
_PORTS = re.compile(r"[\d,]*")
_OURS = {"schema": "holdfast", "pool": "10", "deadline": "30", "notify": "on", "replica": "", "wakeups": ""}
_LAST_PORT = 65535
_NOT_SHARED = {"host", "hostaddr", "port", "target_session_attrs"}
"""Parameters that a replica does not take from its primary."""
_REPLICA_CONNECT_SECONDS = 3


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where the store is, and how to connect to it."""

    name: str
    """The address for messages and logs, without a password."""
    connection: dict[str, Any] = field(repr=False)
    """Parameters of libpq, including the password."""
    schema: str
    pool: int
    """The maximum number of connections for verbs, and of those for transactions. They are opened when needed."""
    deadline: float
    """Seconds without an answer after which a statement fails and its connection is closed."""
    notify: bool
    """Whether wake-ups use LISTEN and NOTIFY."""
    replica: PostgresAddress | None = None
    """A server where lists and counts may be read."""
    wakeups: str | None = field(default=None, repr=False)
    """The address of another wake-up channel."""


def parse(url: str) -> PostgresAddress:
    """Parse an address. The text of a ValueError names the problem and never contains the address."""
    parts = split(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    ours = {**_OURS, **{name: value for name, value in query if name in _OURS}}
    rest = [(name, value) for name, value in query if name not in _OURS]
    connection = _read(urlunsplit(parts._replace(query=urlencode(rest, quote_via=quote))), "store")
    check_schema(ours["schema"])
    if not ours["pool"].isdigit() or not 1 <= int(ours["pool"]) <= 1000:
        raise ValueError(f"pool={ours['pool']!r}: the number of connections, from 1 to 1000")
    try:
        deadline = float(ours["deadline"])
    except ValueError:
        deadline = 0.0
    if not 0 < deadline <= 3600:
        raise ValueError(f"deadline={ours['deadline']!r}: seconds, more than 0 and at most 3600")
    if ours["notify"] not in ("on", "off"):
        raise ValueError(f"notify={ours['notify']!r}: on or off")
    address = PostgresAddress(
        name=_display_name(connection, ours["schema"]),
        connection=connection,
        schema=ours["schema"],
        pool=int(ours["pool"]),
        deadline=deadline,
        notify=ours["notify"] == "on",
        wakeups=ours["wakeups"] or None,
    )
    return replace(address, replica=_replica(address, ours["replica"])) if ours["replica"] else address


def check_schema(schema: str) -> None:
    """Raises ValueError if a schema of Holdfast cannot have this name."""
    if not _SCHEMA.fullmatch(schema):
        raise ValueError(f"schema={schema!r}: use small letters, digits and _, at most 31, not a digit first")
    if schema == "information_schema" or schema.startswith("pg_"):
        raise ValueError(f"schema={schema!r} belongs to PostgreSQL itself; use a schema of your own")


def _replica(primary: PostgresAddress, url: str) -> PostgresAddress:
    shared = {name: value for name, value in primary.connection.items() if name not in _NOT_SHARED}
    connection = {"connect_timeout": _REPLICA_CONNECT_SECONDS, **shared, **_read(url, "replica")}
    return replace(primary, name=_display_name(connection, primary.schema), connection=connection)


def _read(url: str, whose: str) -> dict[str, Any]:
    """The parameters of libpq in an address."""
    parts = split(url)
    known = {option.keyword.decode() for option in Conninfo.get_defaults()} | {"ssl"}
    unknown = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} - known)
    if unknown:
        raise ValueError(f"the address of the {whose} has an unknown option: {', '.join(unknown)}")
    try:
        if parts.scheme not in ("postgresql", "postgres"):
            raise ProgrammingError(parts.scheme)
        connection = conninfo_to_dict(urlunsplit(parts._replace(scheme="postgresql")))
        if not _PORTS.fullmatch(str(connection.get("port", ""))):
            raise ProgrammingError("port")  # not shown: it may be a password whose host is missing
    except ProgrammingError:
        raise ValueError(
            f"the address of the {whose} cannot be read; it is like postgresql://user@host/database"
        ) from None
    if not all(1 <= int(port) <= _LAST_PORT for port in str(connection.get("port", "")).split(",") if port):
        raise ValueError(f"the port of a PostgreSQL address is a number from 1 to {_LAST_PORT}, such as 5432")
    return connection


def _display_name(connection: dict[str, Any], schema: str) -> str:
    host = connection.get("host") or connection.get("hostaddr") or ""
    if str(host).startswith("/"):
        host = f"[{host}]"
    port = f":{connection['port']}" if "port" in connection else ""
    # The user is escaped, so that each part of the address is recognised.
    user = f"{quote(connection['user'])}@" if "user" in connection else ""
    shown = f"?schema={schema}" if schema != _OURS["schema"] else ""
    return f"postgresql://{user}{host}{port}/{quote(connection.get('dbname', ''))}{shown}"
