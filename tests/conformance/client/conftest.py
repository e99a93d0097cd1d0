"""Each case runs on every store, with a blocking client and plain handlers, and with an async client and async ones."""

from __future__ import annotations

import atexit
from collections.abc import AsyncGenerator
from functools import cache
from pathlib import Path

import psycopg
import pytest

from holdfast.stores.postgres import PostgresStore
from holdfast.testing.conformance import StoreFactory
from tests.conformance.client.async_adapters import Mode
from tests.conformance.client.harness import ClientHarness
from tests.conformance.conftest import STORES
from tests.servers.postgres import fresh_address, shared_postgres


@cache
def _postgres() -> tuple[str, psycopg.Connection, bytes]:
    """A store's address, and a connection with the statement that empties it."""
    address = fresh_address()
    schema = PostgresStore(address).schema
    connection = shared_postgres().connect()
    atexit.register(connection.close)  # runs before the server's own exit handler, which was registered first
    rows = connection.execute("select tablename from pg_tables where schemaname = %s", [schema]).fetchall()
    tables = [name for (name,) in rows if name != "migration"]
    # For small tables, delete is faster than truncate.
    return address, connection, "; ".join(f"delete from {schema}.{name}" for name in tables).encode()


def emptied_postgres(folder: Path) -> StoreFactory:
    """A store with empty tables. Creating the tables takes longer than most cases, so this happens once."""
    address, connection, empty = _postgres()
    connection.execute(empty)
    return lambda: PostgresStore(address)


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    return emptied_postgres(tmp_path) if request.param == "postgres" else STORES[request.param](tmp_path)


@pytest.fixture(params=Mode, ids=lambda mode: mode.value)
async def harness(request: pytest.FixtureRequest, make_store: StoreFactory) -> AsyncGenerator[ClientHarness]:
    store = make_store()
    harness = ClientHarness(store, request.param)
    await store.open()
    try:
        yield harness
    finally:
        harness.threads.close()
        await store.close()
