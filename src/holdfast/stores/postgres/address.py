"""The address of a PostgreSQL store.

`postgresql://user:password@host:port/database?schema=NAME&pool=N&deadline=SECONDS&notify=off&replica=ADDRESS`;
everything else in it is libpq's. A list of hosts is tried in order, and `target_session_attrs=read-write` finds the
primary. The replica's address is one of the same kind, its `&` written as `%26`; what it leaves out (user, password,
database, ...) is as the primary's.
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
_ITS_OWN = {"host", "hostaddr", "port", "target_session_attrs"}
"""What a replica never has from its primary."""
_REPLICA_CONNECT_SECONDS = 3


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where the store is and how to talk to it."""

    name: str
    """For people: without any password."""
    connection: dict[str, Any] = field(repr=False)
    """What libpq wants to know, a password too."""
    schema: str
    pool: int
    """The most connections for verbs, and the most for transactions; workers and clients open them as needed."""
    deadline: float
    """Seconds after which a statement that has no answer is given up, and its connection closed."""
    notify: bool
    """Whether wake-ups go by LISTEN and NOTIFY."""
    replica: PostgresAddress | None = None
    """Where lists and counts may be read."""
    wakeups: str | None = field(default=None, repr=False)
    """Where wake-ups go instead."""


def parse(url: str) -> PostgresAddress:
    """Take an address apart. A ValueError says what is wrong with it, and does not repeat it."""
    parts = split(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    ours = {**_OURS, **{name: value for name, value in query if name in _OURS}}
    rest = [(name, value) for name, value in query if name not in _OURS]
    connection = _read(urlunsplit(parts._replace(query=urlencode(rest, quote_via=quote))), "store")
    if not _SCHEMA.fullmatch(ours["schema"]):
        raise ValueError(f"schema={ours['schema']!r}: use small letters, digits and _, at most 31, not a digit first")
    if ours["schema"] == "information_schema" or ours["schema"].startswith("pg_"):
        raise ValueError(f"schema={ours['schema']!r} belongs to PostgreSQL itself; use a schema of your own")
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
        name=_for_people(connection, ours["schema"]),
        connection=connection,
        schema=ours["schema"],
        pool=int(ours["pool"]),
        deadline=deadline,
        notify=ours["notify"] == "on",
        wakeups=ours["wakeups"] or None,
    )
    return replace(address, replica=_replica(address, ours["replica"])) if ours["replica"] else address


def _replica(primary: PostgresAddress, url: str) -> PostgresAddress:
    shared = {name: value for name, value in primary.connection.items() if name not in _ITS_OWN}
    connection = {"connect_timeout": _REPLICA_CONNECT_SECONDS, **shared, **_read(url, "replica")}
    return replace(primary, name=_for_people(connection, primary.schema), connection=connection)


def _read(url: str, whose: str) -> dict[str, Any]:
    """What an address tells libpq."""
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
            raise ProgrammingError("port")  # it would be shown, and may be a password whose host was left out
    except ProgrammingError:
        raise ValueError(
            f"the address of the {whose} cannot be read; it is like postgresql://user@host/database"
        ) from None
    if not all(1 <= int(port) <= _LAST_PORT for port in str(connection.get("port", "")).split(",") if port):
        raise ValueError(f"the port of a PostgreSQL address is a number from 1 to {_LAST_PORT}, such as 5432")
    return connection


def _for_people(connection: dict[str, Any], schema: str) -> str:
    host = connection.get("host") or connection.get("hostaddr") or ""
    if str(host).startswith("/"):
        host = f"[{host}]"
    port = f":{connection['port']}" if "port" in connection else ""
    # Escaped, so that no part can pass for another.
    user = f"{quote(connection['user'])}@" if "user" in connection else ""
    shown = f"?schema={schema}" if schema != _OURS["schema"] else ""
    return f"postgresql://{user}{host}{port}/{quote(connection.get('dbname', ''))}{shown}"
