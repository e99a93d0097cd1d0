"""Both ends of a connection detect a dead peer after a minute, unless the address or the role sets another time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from holdfast.engine.operations import GetStats
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.address import parse
from holdfast.stores.postgres.connection.connect import connect, connect_async, connection_parameters
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups
from holdfast.stores.sql.plan import Statement
from tests.servers.postgres import Postgres
from tests.stores.postgres.transaction_pooler import transaction_pooler
from tests.waiting import wait_until

RENDER = Renderer.of("holdfast", Style.NUMBERED)
NAMES = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
SHOW = Statement("select " + ", ".join(f"current_setting('{name}')" for name in NAMES))
SOURCES = Statement("select count(*) from pg_settings where name ~ '^(tcp_|client_conn)' and source = 'session'")
OURS = [("30", "10", "3", "60000")]


@pytest.mark.parametrize("limited", [True, False], ids=["for verbs", "for transactions"])
def test_the_server_detects_a_dead_client(server: Postgres, limited: bool) -> None:
    opened = connect(parse(server.tcp_address()), RENDER, limited=limited)

    assert opened.execute(SHOW) == OURS
    opened.close()


@pytest.mark.parametrize("limited", [True, False], ids=["for verbs", "for transactions"])
async def test_the_server_detects_a_dead_async_client(server: Postgres, limited: bool) -> None:
    opened = await connect_async(parse(server.tcp_address()), RENDER, limited=limited)

    assert await opened.execute(SHOW) == OURS
    opened.close()


def test_the_server_detects_a_dead_listener(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    execute: Callable[..., psycopg.Cursor] = PostgresWakeups._execute  # pyright: ignore[reportPrivateUsage]

    def spy(wakeups: PostgresWakeups, connection: psycopg.Connection, query: str) -> psycopg.Cursor:
        cursor = execute(wakeups, connection, query)
        if "pg_settings" in query:
            shown.extend(connection.execute(SHOW.sql.encode()).fetchall())
        return cursor

    monkeypatch.setattr(PostgresWakeups, "_execute", spy)
    wakeups = PostgresWakeups(parse(server.tcp_address()))
    wakeups.open()
    wakeups.close()

    assert shown == OURS


def test_settings_of_the_address_are_kept(server: Postgres) -> None:
    opened = connect(parse(server.tcp_address(options="-c%20tcp_keepalives_idle%3D77")), RENDER, limited=True)

    assert opened.execute(SHOW) == [("77", "10", "3", "60000")]
    opened.close()


def test_a_unix_socket_has_no_keepalives(server: Postgres) -> None:
    opened = connect(parse(server.address()), RENDER, limited=True)

    assert opened.execute(SHOW) == [("0", "0", "0", "0")]
    opened.close()


@pytest.mark.parametrize("over", ["tcp", "unix"])
async def test_the_server_ends_a_statement_whose_caller_gave_up(
    server: Postgres, store: PostgresStore, connection: psycopg.Connection, over: str
) -> None:
    """A page of the dashboard has a timeout. Its statement must not run on until the deadline of the address."""
    address = (server.tcp_address if over == "tcp" else server.address)(schema=store.schema, deadline="600")
    active = "select from pg_stat_activity where state = 'active' and wait_event_type = 'Lock' and query like %s"

    def waits() -> bool:
        return bool(connection.execute(active, [f'%"{store.schema}".%']).fetchall())

    reader = PostgresStore(address)
    await reader.open()
    with server.connect() as other, other.transaction():
        other.execute(f'lock table "{store.schema}".job in access exclusive mode'.encode())
        reading = asyncio.create_task(reader.perform(GetStats()))
        await asyncio.to_thread(wait_until, waits)
        reading.cancel()

        await asyncio.to_thread(wait_until, lambda: not waits())
    await reader.close()


def test_no_setting_is_changed_behind_a_pooler(server: Postgres) -> None:
    with transaction_pooler(server.port) as port:
        opened = connect(parse(server.tcp_address(port=port)), RENDER, limited=True)

        assert opened.execute(SOURCES) == [(0,)]
        opened.close()


def test_the_client_detects_a_dead_server(server: Postgres) -> None:
    ours = connection_parameters(parse(server.tcp_address()))
    given = connection_parameters(parse(server.tcp_address(tcp_user_timeout="5000", keepalives_idle="7")))

    assert ours["tcp_user_timeout"] == 60_000
    assert ours["keepalives_idle"] == 30
    assert (given["tcp_user_timeout"], given["keepalives_idle"]) == ("5000", "7")
