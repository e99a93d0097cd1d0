"""The number of connections of a process, and how long they are kept, as described in the guide."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from holdfast.engine.operations import GetStats, Renew
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection import pool
from holdfast.stores.postgres.connection.connect import connect_async
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from tests.servers.postgres import Postgres
from tests.waiting import wait_until

POOL = 3


@pytest.fixture
def role(connection: psycopg.Connection, store: PostgresStore) -> Iterator[str]:
    """A role for this test, so that its sessions can be counted."""
    role = f"counted_{store.schema}"
    connection.execute(f"create role {role} login superuser".encode())
    yield role
    connection.execute(f"drop role {role}".encode())


@pytest.fixture
def counted(server: Postgres, store: PostgresStore, role: str) -> Iterator[PostgresStore]:
    counted = PostgresStore(server.address(user=role, schema=store.schema, pool=str(POOL)))
    yield counted
    counted.close_sync()


def sessions(connection: psycopg.Connection, role: str) -> int:
    row = connection.execute("select count(*) from pg_stat_activity where usename = %s", [role]).fetchone()
    assert row is not None
    return int(row[0])


async def test_async_code_opens_at_most_two_pools_and_two_more_connections(
    counted: PostgresStore, connection: psycopg.Connection, role: str
) -> None:
    await counted.open()
    assert sessions(connection, role) == 2, "one for verbs, one that listens"

    transactions = [await counted.begin() for _ in range(POOL)]
    await asyncio.gather(*(counted.perform(GetStats()) for _ in range(5 * POOL)))
    await asyncio.to_thread(counted.perform_sync, Renew(()))

    assert sessions(connection, role) <= 2 * POOL + 2
    assert sessions(connection, role) > POOL + 2
    for transaction in transactions:
        await transaction.rollback()
    await counted.close()


def test_blocking_code_opens_as_many_connections(
    counted: PostgresStore, connection: psycopg.Connection, role: str
) -> None:
    counted.open_sync()
    transactions = [counted.begin_sync() for _ in range(POOL)]
    with ThreadPoolExecutor(5 * POOL) as threads:
        list(threads.map(counted.perform_sync, [GetStats()] * 5 * POOL))
    counted.perform_sync(Renew(()))

    assert sessions(connection, role) <= 2 * POOL + 2
    for transaction in transactions:
        transaction.rollback()


def test_unused_connections_are_closed_after_a_peak_load(
    counted: PostgresStore, connection: psycopg.Connection, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for transaction in [counted.begin_sync() for _ in range(POOL)]:
        transaction.rollback()
    assert sessions(connection, role) == POOL
    monkeypatch.setattr(pool, "IDLE", 0.0)

    deadline = time.monotonic() + 60
    while sessions(connection, role) > 1:
        assert time.monotonic() < deadline
        counted.begin_sync().rollback()


def test_a_closed_event_loop_leaves_no_connection_open(
    counted: PostgresStore, connection: psycopg.Connection, role: str
) -> None:
    for _ in range(4):
        asyncio.run(counted.perform(GetStats()))

    deadline = time.monotonic() + 60
    while sessions(connection, role) > 1:
        assert time.monotonic() < deadline


async def test_an_event_loop_stops_watching_a_garbage_collected_connection(store: PostgresStore) -> None:
    """Otherwise the loop would watch the next socket with the same descriptor."""
    opened = await connect_async(store.address, Renderer.of(store.schema, Style.NUMBERED), limited=True)
    descriptor = opened.native.pgconn.socket

    with pytest.warns(ResourceWarning):
        del opened

    assert not asyncio.get_running_loop().remove_reader(descriptor)


def test_calls_after_close_leave_no_connection_open(
    counted: PostgresStore, connection: psycopg.Connection, role: str
) -> None:
    """The thread of a handler may outlive its worker. Its calls work, and their connections are closed at once."""
    counted.open_sync()
    counted.close_sync()

    counted.perform_sync(GetStats())
    counted.begin_sync().rollback()
    asyncio.run(counted.perform(GetStats()))

    wait_until(lambda: sessions(connection, role) == 0)
    counted.open_sync()
    counted.perform_sync(GetStats())
    assert sessions(connection, role) == 2, "one for verbs, one that listens"


def test_the_rollback_of_an_abandoned_transaction_raises_nothing(store: PostgresStore) -> None:
    """Its thread may have received an answer just before, and the connection looks intact."""
    tx = store.begin_sync()
    tx.native.execute("select 1")
    tx.abandon()

    tx.rollback()

    assert tx.native.closed
