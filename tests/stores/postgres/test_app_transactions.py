"""Jobs in transactions of the application, with all kinds of connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from django.db import connections, transaction

from holdfast.core.ids import new_id
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import CancelChains, ClaimJobs, GetChains, Guard, Settle, Start, TypeTerms
from holdfast.errors import ChainNotFound, StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.postgres.verbs.insert import PART
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import shared_postgres
from tests.servers.postgres_schemas import fresh_address
from tests.stores.postgres.app_connections import ASYNC, SYNC, asyncpg_connection, configure_django, psycopg_connection

ISOLATION = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


@pytest.fixture(scope="module")
def store() -> Iterator[PostgresStore]:
    """One store for all tests: each has its own jobs and keys."""
    store = PostgresStore(fresh_address())
    store.open_sync()
    yield store
    store.close_sync()


@pytest.fixture
def table(connection: psycopg.Connection, store: PostgresStore) -> str:
    name = f'"{store.schema}"."{new_id()}"'
    connection.execute(f"create table {name} (n int)".encode())
    return name


class Undone(Exception):
    """Rolls the application back to its savepoint."""


def keyed() -> NewJob:
    return new_job(key=new_id())


def same_key(job: NewJob) -> NewJob:
    return new_job(key=job.key)


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("kind", SYNC, ids=lambda kind: kind.__name__)
class TestBlocking:
    def test_the_job_is_committed_with_the_rows_of_the_application(
        self, kind: Any, isolation: str, store: PostgresStore, table: str, connection: psycopg.Connection
    ) -> None:
        job = keyed()
        with kind(isolation) as opened:
            opened.execute(f"insert into {table} values (1)")
            store.join_sync(opened.tx).perform(Start((job,)))
            assert store.perform_sync(GetChains((job.id,))) == [None]
            (again,) = store.join_sync(opened.tx).perform(Start((same_key(job),)))
            assert again.deduplicated
            assert again.chain.first.id == job.id

            opened.commit()

        assert store.perform_sync(GetChains((job.id,)))[0] is not None
        assert count(connection, table) == 1

    def test_a_rollback_removes_both(
        self, kind: Any, isolation: str, store: PostgresStore, table: str, connection: psycopg.Connection
    ) -> None:
        job = new_job()
        with kind(isolation) as opened:
            opened.execute(f"insert into {table} values (1)")
            store.join_sync(opened.tx).perform(Start((job,)))

            opened.rollback()

        assert store.perform_sync(GetChains((job.id,))) == [None]
        assert count(connection, table) == 0

    def test_a_rollback_to_a_savepoint_removes_its_jobs_and_their_keys(
        self, kind: Any, isolation: str, store: PostgresStore
    ) -> None:
        before, kept, undone = keyed(), keyed(), keyed()
        with kind(isolation) as opened:
            store.join_sync(opened.tx).perform(Start((before,)))
            with opened.savepoint():
                store.join_sync(opened.tx).perform(Start((kept,)))
            with suppress(Undone), opened.savepoint():
                store.join_sync(opened.tx).perform(Start((undone,)))
                raise Undone
            answers = store.join_sync(opened.tx).perform(Start((same_key(before), same_key(kept), same_key(undone))))

            opened.commit()

        assert [answer.deduplicated for answer in answers] == [True, True, False]
        found = store.perform_sync(GetChains((before.id, kept.id, undone.id)))
        assert [chain is not None for chain in found] == [True, True, False]

    def test_a_key_started_since_the_snapshot_is_found_or_is_a_serialization_failure(
        self, kind: Any, isolation: str, store: PostgresStore
    ) -> None:
        job = keyed()
        with kind(isolation) as opened:
            opened.execute("select 1")
            store.perform_sync(Start((job,)))
            if isolation == "READ COMMITTED":
                (started,) = store.join_sync(opened.tx).perform(Start((same_key(job),)))
                assert started.deduplicated
            else:
                with pytest.raises(Exception, match="could not serialize access"):
                    store.join_sync(opened.tx).perform(Start((same_key(job),)))
            opened.rollback()


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
class TestAsync:
    async def test_the_job_is_committed_with_the_rows_of_the_application(
        self, kind: Any, isolation: str, store: PostgresStore, table: str, connection: psycopg.Connection
    ) -> None:
        job = keyed()
        async with kind(isolation) as opened:
            await opened.execute(f"insert into {table} values (1)")
            await store.join(opened.tx).perform(Start((job,)))
            (again,) = await store.join(opened.tx).perform(Start((same_key(job),)))
            assert again.deduplicated
            assert again.chain.first.id == job.id
            assert store.perform_sync(GetChains((job.id,))) == [None]

            await opened.commit()

        assert store.perform_sync(GetChains((job.id,)))[0] is not None
        assert count(connection, table) == 1

    async def test_a_rollback_removes_both(
        self, kind: Any, isolation: str, store: PostgresStore, table: str, connection: psycopg.Connection
    ) -> None:
        job = new_job()
        async with kind(isolation) as opened:
            await opened.execute(f"insert into {table} values (1)")
            await store.join(opened.tx).perform(Start((job,)))

            await opened.rollback()

        assert store.perform_sync(GetChains((job.id,))) == [None]
        assert count(connection, table) == 0

    async def test_a_rollback_to_a_savepoint_removes_its_jobs_and_their_keys(
        self, kind: Any, isolation: str, store: PostgresStore
    ) -> None:
        before, kept, undone = keyed(), keyed(), keyed()
        async with kind(isolation) as opened:
            await store.join(opened.tx).perform(Start((before,)))
            async with opened.savepoint():
                await store.join(opened.tx).perform(Start((kept,)))
            with suppress(Undone):
                async with opened.savepoint():
                    await store.join(opened.tx).perform(Start((undone,)))
                    raise Undone
            again = Start((same_key(before), same_key(kept), same_key(undone)))
            answers = await store.join(opened.tx).perform(again)

            await opened.commit()

        assert [answer.deduplicated for answer in answers] == [True, True, False]
        found = store.perform_sync(GetChains((before.id, kept.id, undone.id)))
        assert [chain is not None for chain in found] == [True, True, False]

    async def test_a_key_started_since_the_snapshot_is_found_or_is_a_serialization_failure(
        self, kind: Any, isolation: str, store: PostgresStore
    ) -> None:
        job = keyed()
        async with kind(isolation) as opened:
            await opened.execute("select 1")
            store.perform_sync(Start((job,)))
            if isolation == "READ COMMITTED":
                (started,) = await store.join(opened.tx).perform(Start((same_key(job),)))
                assert started.deduplicated
            else:
                with pytest.raises(Exception, match="could not serialize access"):
                    await store.join(opened.tx).perform(Start((same_key(job),)))
            await opened.rollback()

    async def test_a_chain_is_cancelled_only_with_the_commit(
        self, kind: Any, isolation: str, store: PostgresStore
    ) -> None:
        job = new_job()
        store.perform_sync(Start((job,)))
        async with kind(isolation) as opened:
            with pytest.raises(ChainNotFound):
                await store.join(opened.tx).perform(CancelChains(("none",)))
            await store.join(opened.tx).perform(CancelChains((job.id,)))
            (before,) = store.perform_sync(GetChains((job.id,)))

            await opened.commit()

        (after,) = store.perform_sync(GetChains((job.id,)))
        assert before is not None
        assert after is not None
        assert (before.last.status.value, after.last.status.value) == ("pending", "cancelled")


def test_the_error_for_another_class_lists_the_accepted_classes(store: PostgresStore) -> None:
    with pytest.raises(TypeError, match="psycopg Connection, a SQLAlchemy Session or Connection, or Django's"):
        store.join_sync(object())
    with pytest.raises(TypeError, match="asyncpg Connection"):
        store.join(object())


def test_a_blocking_connection_belongs_to_the_blocking_client(store: PostgresStore) -> None:
    with psycopg_connection("READ COMMITTED") as opened, pytest.raises(TypeError, match="belongs to SyncClient"):
        store.join(opened.tx)


def test_a_connection_in_autocommit_mode_is_rejected(store: PostgresStore, connection: psycopg.Connection) -> None:
    with pytest.raises(ValueError, match="open a transaction"):
        store.join_sync(connection).perform(Start((new_job(),)))
    with connection.transaction():
        store.join_sync(connection).perform(Start((new_job(),)))


async def test_an_asyncpg_connection_outside_a_transaction_is_rejected(store: PostgresStore) -> None:
    async with asyncpg_connection("READ COMMITTED") as opened:
        await opened.rollback()
        with pytest.raises(ValueError, match="open a transaction"):
            await store.join(opened.tx).perform(Start((new_job(),)))


def test_an_alias_of_django_is_accepted_but_not_in_autocommit_mode(store: PostgresStore) -> None:
    configure_django()
    with pytest.raises(ValueError, match="open a transaction"):
        store.join_sync("default").perform(Start((new_job(),)))
    with transaction.atomic():
        store.join_sync("default").perform(Start((new_job(),)))
    connections["default"].close()


@pytest.mark.parametrize("kind", SYNC, ids=lambda kind: kind.__name__)
def test_many_jobs_are_started_in_the_applications_transaction(kind: Any, store: PostgresStore) -> None:
    jobs = tuple(new_job() for _ in range(PART + 1))
    with kind("READ COMMITTED") as opened:
        started = store.join_sync(opened.tx).perform(Start(jobs))
        opened.commit()

    assert [each.chain.first.id for each in started] == [job.id for job in jobs]
    assert None not in store.perform_sync(GetChains((jobs[0].id, jobs[-1].id)))


@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
async def test_many_jobs_are_started_in_the_applications_async_transaction(kind: Any, store: PostgresStore) -> None:
    jobs = tuple(new_job() for _ in range(PART + 1))
    async with kind("READ COMMITTED") as opened:
        started = await store.join(opened.tx).perform(Start(jobs))
        await opened.commit()

    assert [each.chain.first.id for each in started] == [job.id for job in jobs]
    assert None not in store.perform_sync(GetChains((jobs[0].id, jobs[-1].id)))


def test_missing_tables_are_named_in_the_applications_transaction() -> None:
    server = shared_postgres()
    store = PostgresStore(server.address(schema="nowhere", notify="off"))
    with psycopg_connection("READ COMMITTED") as opened, pytest.raises(StoreUnavailable, match="holdfast migrate"):
        store.join_sync(opened.tx).perform(Start((new_job(),)))


def test_the_transaction_of_an_attempt_commits_its_writes_with_the_job(
    store: PostgresStore, table: str, connection: psycopg.Connection
) -> None:
    store.perform_sync(Start((new_job("charge"),)))
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("charge", 60_000_000, 25),), 1, "worker", "token"))

    tx = store.begin_sync()
    tx.perform(Guard(job.claim))
    native: Any = tx.native
    assert isinstance(native, psycopg.Connection)
    tx.native.execute(f"insert into {table} values (1)".encode())
    (settled,) = tx.perform(Settle((completed(job),)))
    assert count(connection, table) == 0
    tx.commit()

    assert settled.written
    assert count(connection, table) == 1


def count(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(f"select count(*) from {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])
