"""Fixtures: an empty store on the test server, and servers of its own for a test."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from holdfast.engine.operations import Operation
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.errors import RetrySchedule
from tests.servers.postgres import Postgres, running_postgres, shared_postgres
from tests.servers.postgres_schemas import fresh_address


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


@pytest.fixture
def pool() -> ThreadPoolExecutor:
    """One thread, for an operation that waits for a lock."""
    return ThreadPoolExecutor(1)


@pytest.fixture
def deadlocks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs that failed with a deadlock. The store repeats them, so a caller does not notice."""
    seen: list[str] = []
    pause = RetrySchedule.pause

    def recording(schedule: RetrySchedule, operation: Operation[object], error: BaseException) -> float | None:
        if getattr(error, "sqlstate", None) == "40P01":
            seen.append(operation.verb)
        return pause(schedule, operation, error)

    monkeypatch.setattr(RetrySchedule, "pause", recording)
    return seen
