"""New connections of our own, and how their sessions are set up."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

import psycopg

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connection import AsyncLink, Link
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.errors import NoConnection
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

CONNECT_SECONDS: Final = 10

IDLE_SECONDS: Final = 30
PROBE_SECONDS: Final = 10
PROBES: Final = 3
DEAD_SECONDS: Final = IDLE_SECONDS + PROBES * PROBE_SECONDS
"""After this time without an acknowledgement, either end takes the other for dead and closes the connection."""

KEEPALIVES: Final = (
    "select count(set_config(present.name, wanted.value, false)) "  # noqa: S608 - our own numbers
    f"from (values ('tcp_keepalives_idle', '{IDLE_SECONDS}'), ('tcp_keepalives_interval', '{PROBE_SECONDS}'), "
    f"('tcp_keepalives_count', '{PROBES}'), ('tcp_user_timeout', '{DEAD_SECONDS * 1000}')) wanted (name, value) "
    "join pg_settings present on present.name = wanted.name where present.source = 'default'"
)
"""Have the server notice a client that is gone. What the server, the role or the address sets is kept.

A Unix socket ignores these settings.
"""

_SESSION = SQL["session"]

Connect = Callable[[], Link]
AsyncConnect = Callable[[], Awaitable[AsyncLink]]


def connect(address: PostgresAddress, render: Renderer, *, limited: bool) -> Link:
    """A new connection. `limited` ones have the server give up a statement soon after we did."""
    try:
        connection = psycopg.connect(**connection_parameters(address))
    except (psycopg.Error, OSError) as error:
        raise NoConnection(str(error).strip()) from error
    link = Link(connection, address, render)
    try:
        ((pid, calls),) = link.execute(_session(address))
        if calls:
            link.call_functions()
        if pid == connection.info.backend_pid:
            link.session.prepares = True
            link.execute(_limits(address) if limited else Statement(KEEPALIVES))
    except psycopg.Error as error:
        connection.close()
        raise NoConnection(str(error).strip()) from error
    except BaseException:
        connection.close()
        raise
    return link


async def connect_async(address: PostgresAddress, render: Renderer, *, limited: bool) -> AsyncLink:
    """The same, async."""
    try:
        connection = await psycopg.AsyncConnection.connect(**connection_parameters(address))
    except (psycopg.Error, OSError) as error:
        raise NoConnection(str(error).strip()) from error
    link = AsyncLink(connection, address, render, ours=limited)
    try:
        ((pid, calls),) = await link.execute(_session(address))
        if calls:
            link.call_functions()
        if pid == connection.info.backend_pid:
            link.session.prepares = True
            await link.execute(_limits(address) if limited else Statement(KEEPALIVES))
    except psycopg.Error as error:
        link.close()
        raise NoConnection(str(error).strip()) from error
    except BaseException:
        link.close()
        raise
    return link


def _session(address: PostgresAddress) -> Statement:
    """Asks which server process answers, and how this role may start jobs.

    Behind a pooler the session is not the one that was announced when connecting. Then nothing may be left in it:
    no prepared statements, no settings.
    """
    return Statement(_SESSION, {"schema": address.schema})


def _limits(address: PostgresAddress) -> Statement:
    """Settings for a session that carries our verbs only.

    Read committed: a statement that met another's write goes on with what that wrote, where it would fail otherwise.
    One plan per statement: planning a claim anew costs more than the claim, and no better plan comes of it.
    Not compiled: such a plan does not know how few rows it will meet, and compiling takes a hundred times as long.
    """
    milliseconds = round(address.deadline * 1000) + 5000
    return Statement(
        f"select set_config('statement_timeout', '{milliseconds}', false), "
        "set_config('default_transaction_isolation', 'read committed', false), "
        f"set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false), ({KEEPALIVES})"
    )


def connection_parameters(address: PostgresAddress) -> dict[str, Any]:
    """What psycopg is told about a connection of ours."""
    settings = {
        "application_name": "holdfast",
        "connect_timeout": min(CONNECT_SECONDS, math.ceil(address.deadline)),
        "keepalives_idle": IDLE_SECONDS,
        "keepalives_interval": PROBE_SECONDS,
        "keepalives_count": PROBES,
        "tcp_user_timeout": DEAD_SECONDS * 1000,
    }
    return {**settings, **address.connection, "autocommit": True, "prepare_threshold": None}
