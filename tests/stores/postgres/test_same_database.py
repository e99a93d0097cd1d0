"""A transaction on another database is rejected with every driver. Another endpoint of the same database is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from holdfast.core.ids import new_id
from holdfast.engine.operations import GetChains, Start
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.connection.same_database import SameDatabase
from holdfast.testing.builders import new_job
from tests.servers.postgres import Postgres, shared_postgres
from tests.stores.postgres.app_connections import ASYNC, SYNC, alchemy_session, psycopg_connection

REFUSAL = r"tx is a connection to another database \(postgres\) than the store's \(.*/elsewhere"


def migrated(address: str) -> PostgresStore:
    store = PostgresStore(address)
    store.migrate_sync()
    return store


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[PostgresStore]:
    """A store on another database than all kinds of connections, with the same tables."""
    server = shared_postgres()
    with server.connect() as connection:
        connection.execute("drop database if exists elsewhere with (force)")
        connection.execute("create database elsewhere")
    store = migrated(server.address(database="elsewhere", schema="same"))
    migrated(server.address(schema="same")).close_sync()
    yield store
    store.close_sync()


@pytest.fixture(scope="module")
def by_tcp() -> Iterator[PostgresStore]:
    """A store that connects by TCP to the database that all kinds of connections reach by a Unix socket."""
    store = migrated(shared_postgres().tcp_address(schema="same"))
    yield store
    store.close_sync()


@pytest.mark.parametrize("kind", SYNC, ids=lambda kind: kind.__name__)
class TestBlocking:
    def test_a_connection_to_another_database_is_rejected_and_nothing_is_written(
        self, kind: Any, elsewhere: PostgresStore, by_tcp: PostgresStore
    ) -> None:
        job = new_job()
        with kind("READ COMMITTED") as opened:
            with pytest.raises(ValueError, match=REFUSAL):
                elsewhere.join_sync(opened.tx).perform(Start((job,)))
            opened.commit()

        assert by_tcp.perform_sync(GetChains((job.id,))) == [None]

    def test_another_endpoint_of_the_same_database_is_accepted(self, kind: Any, by_tcp: PostgresStore) -> None:
        job = new_job()
        with kind("READ COMMITTED") as opened:
            by_tcp.join_sync(opened.tx).perform(Start((job,)))
            opened.commit()

        assert by_tcp.perform_sync(GetChains((job.id,)))[0] is not None


@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
class TestAsync:
    async def test_a_connection_to_another_database_is_rejected_and_nothing_is_written(
        self, kind: Any, elsewhere: PostgresStore, by_tcp: PostgresStore
    ) -> None:
        job = new_job()
        async with kind("READ COMMITTED") as opened:
            with pytest.raises(ValueError, match=REFUSAL):
                await elsewhere.join(opened.tx).perform(Start((job,)))
            await opened.commit()

        assert by_tcp.perform_sync(GetChains((job.id,))) == [None]

    async def test_another_endpoint_of_the_same_database_is_accepted(self, kind: Any, by_tcp: PostgresStore) -> None:
        job = new_job()
        async with kind("READ COMMITTED") as opened:
            await by_tcp.join(opened.tx).perform(Start((job,)))
            await opened.commit()

        assert by_tcp.perform_sync(GetChains((job.id,)))[0] is not None


def test_the_error_for_a_database_without_tables_names_the_database_and_not_the_migration(
    elsewhere: PostgresStore,
) -> None:
    store = migrated(shared_postgres().address(database="elsewhere", schema="only_there"))
    with alchemy_session("READ COMMITTED") as opened, pytest.raises(ValueError, match=REFUSAL):
        store.join_sync(opened.tx).perform(Start((new_job(),)))
    store.close_sync()


def test_a_database_of_the_same_name_on_another_server_is_rejected(own_server: Postgres) -> None:
    store = PostgresStore(own_server.address(schema="same"))
    with (
        psycopg_connection("READ COMMITTED") as opened,
        pytest.raises(ValueError, match=r"another database \(postgres on another server\)"),
    ):
        store.join_sync(opened.tx).perform(Start((new_job(),)))
    store.close_sync()


def test_a_role_without_any_rights_can_read_the_identity(server: Postgres, connection: psycopg.Connection) -> None:
    role = f"r{new_id()}"
    connection.execute(f'create role "{role}" login'.encode())
    with server.connect(user=role) as unprivileged:
        store = PostgresStore(server.tcp_address(user=role))

        assert queries(store, unprivileged) == 1
    connection.execute(f'drop role "{role}"'.encode())


def test_a_connection_to_the_same_endpoint_needs_no_query(server: Postgres, connection: psycopg.Connection) -> None:
    assert queries(PostgresStore(server.address()), connection) == 0


def test_a_connection_to_another_endpoint_is_checked_once(server: Postgres, connection: psycopg.Connection) -> None:
    store = PostgresStore(server.tcp_address())

    assert [queries(store, connection) for _ in range(3)] == [1, 0, 0]


def queries(store: PostgresStore, connection: psycopg.Connection) -> int:
    """The number of statements that the check of a connection needs."""
    statements: list[Any] = []

    def execute(statement: Any) -> list[Any]:
        statements.append(statement)
        return connection.execute(statement.sql.encode()).fetchall()

    SameDatabase.of(store).check(connection, execute)
    return len(statements)
