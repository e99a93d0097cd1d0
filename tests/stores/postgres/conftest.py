"""A store with nothing in it, on the suite's own server."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import Postgres, fresh_address, running_postgres, shared_postgres


@pytest.fixture
def server() -> Postgres:
    """The server that all tests share: nothing may be done to it that others would notice."""
    return shared_postgres()


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """A server to be killed, restarted and reconfigured."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def address() -> str:
    return fresh_address()


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    store = PostgresStore(address)
    store.open_sync()
    yield store
    store.close_sync()


@pytest.fixture
def connection(server: Postgres) -> Iterator[psycopg.Connection]:
    """A connection of somebody else's, in autocommit."""
    with server.connect() as connection:
        yield connection
