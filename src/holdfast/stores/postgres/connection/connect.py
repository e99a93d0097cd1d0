"""Opens connections of the store, and sets up their sessions."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

import psycopg

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connection import AsyncConnection, SyncConnection
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.errors import NoConnection
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

CONNECT_SECONDS: Final = 10

MARGIN_SECONDS: Final = 5.0
"""How many seconds longer than our own deadline a statement may run on the server."""

IDLE_TRANSACTION_SECONDS: Final = 3.0
"""How long a transaction of a verb may be idle. Between two statements of a verb the client only computes."""

IDLE_SECONDS: Final = 30
PROBE_SECONDS: Final = 10
PROBES: Final = 3
DEAD_SECONDS: Final = IDLE_SECONDS + PROBES * PROBE_SECONDS
"""After this many seconds without an acknowledgement, client and server consider each other dead and disconnect."""

CHECK_SECONDS: Final = 2
"""How often, in seconds, the server checks while a statement runs whether the client has closed the connection."""

KEEPALIVES: Final = (
    "select count(set_config(present.name, wanted.value, false)) "  # noqa: S608 - our own numbers
    f"from (values ('tcp_keepalives_idle', '{IDLE_SECONDS}'), ('tcp_keepalives_interval', '{PROBE_SECONDS}'), "
    f"('tcp_keepalives_count', '{PROBES}'), ('tcp_user_timeout', '{DEAD_SECONDS * 1000}'), "
    # Servers on other systems may refuse the setting.
    f"(case when strpos(version(), 'linux') > 0 then 'client_connection_check_interval' end, '{CHECK_SECONDS * 1000}')"
    ") wanted (name, value) "
    "join pg_settings present on present.name = wanted.name where present.source = 'default'"
)
"""Lets the server detect a dead client, and a client that closed its connection because a caller gave up.

Values that are set for the server, the role or the address are kept. A Unix socket ignores the TCP settings.
"""

PLANNER: Final = {
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "enable_seqscan": "off",
    "enable_mergejoin": "off",
}
"""How the server plans our statements. `_limits` gives the reasons."""

_SESSION = SQL["session"]

Connect = Callable[[], SyncConnection]
AsyncConnect = Callable[[], Awaitable[AsyncConnection]]


def connect(address: PostgresAddress, render: Renderer, *, limited: bool) -> SyncConnection:
    """Open a connection. With `limited`, the server cancels a statement soon after our own deadline."""
    try:
        native = psycopg.connect(**connection_parameters(address))
    except (psycopg.Error, OSError) as error:
        raise NoConnection(str(error).strip()) from error
    connection = SyncConnection(native, address, render)
    try:
        ((pid, calls),) = connection.execute(_session(address))
        if calls:
            connection.call_functions()
        if pid == native.info.backend_pid:
            connection.session.prepares = True
            connection.execute(_limits(address) if limited else Statement(KEEPALIVES))
    except psycopg.Error as error:
        native.close()
        raise NoConnection(str(error).strip()) from error
    except BaseException:
        native.close()
        raise
    return connection


async def connect_async(address: PostgresAddress, render: Renderer, *, limited: bool) -> AsyncConnection:
    """The async variant of `connect`."""
    try:
        native = await psycopg.AsyncConnection.connect(**connection_parameters(address))
    except (psycopg.Error, OSError) as error:
        raise NoConnection(str(error).strip()) from error
    connection = AsyncConnection(native, address, render, exclusive=limited)
    try:
        ((pid, calls),) = await connection.execute(_session(address))
        if calls:
            connection.call_functions()
        if pid == native.info.backend_pid:
            connection.session.prepares = True
            await connection.execute(_limits(address) if limited else Statement(KEEPALIVES))
    except psycopg.Error as error:
        connection.close()
        raise NoConnection(str(error).strip()) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _session(address: PostgresAddress) -> Statement:
    """Reads the process id of the server session, and whether this role must call functions to start jobs.

    If the process id is not the one that was reported at connect, a pooler is between us and the server. Then the
    session must stay unchanged: no prepared statements, no settings.
    """
    return Statement(_SESSION, {"schema": address.schema})


def _limits(address: PostgresAddress) -> Statement:
    """Settings for a session that executes only our verbs.

    - Isolation level read committed: a statement that finds a row changed by another transaction continues with the
      new version of the row. With a stricter level the statement would fail.
    - Generic plans: planning a claim costs more than executing it, and a custom plan is no better.
    - Index scans instead of sequential scans: the server keeps a plan that was made for an empty table. A plan that
      reads the whole table would be slow after the table has grown.
    - No JIT compilation and no parallel workers: a generic plan overestimates the number of rows. Compiling, or
      starting processes, would take a hundred times as long as executing the statement.
    - A short timeout for idle transactions: a process that freezes between two statements of a verb would keep its
      locks, and other workers could neither reap its jobs nor claim in its lanes. A live process that was blocked for
      longer repeats the verb. Transactions with code of the application use other sessions.
    """
    longest = round((address.deadline + MARGIN_SECONDS) * 1000)
    idle = round(IDLE_TRANSACTION_SECONDS * 1000)
    planner = "".join(f"set_config('{name}', '{value}', false), " for name, value in PLANNER.items())
    return Statement(
        f"select set_config('statement_timeout', '{longest}', false), "
        f"set_config('idle_in_transaction_session_timeout', '{idle}', false), "
        "set_config('default_transaction_isolation', 'read committed', false), "
        f"{planner}({KEEPALIVES})"
    )


def connection_parameters(address: PostgresAddress) -> dict[str, Any]:
    """The arguments of `psycopg.connect` for a connection of the store."""
    settings = {
        "application_name": "holdfast",
        "connect_timeout": min(CONNECT_SECONDS, math.ceil(address.deadline)),
        "keepalives_idle": IDLE_SECONDS,
        "keepalives_interval": PROBE_SECONDS,
        "keepalives_count": PROBES,
        "tcp_user_timeout": DEAD_SECONDS * 1000,
    }
    return {**settings, **address.connection, "autocommit": True, "prepare_threshold": None}
