"""Fixtures: an empty store on the test server, and servers of its own for a test."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from holdfast.stores.postgres import PostgresStore
from tests.servers.postgres import Postgres, fresh_address, running_postgres, shared_postgres


@pytest.fixture
def server() -> Postgres:
    """The server that all tests share. A test must not restart or reconfigure it."""
    return shared_postgres()


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """A server that the test may kill, restart and reconfigure."""
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
    """Another connection to the server, in autocommit mode."""
    with server.connect() as connection:
        yield connection
