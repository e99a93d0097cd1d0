"""Jobs in the application's own transaction, through each kind of connection that an application may have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import django
import psycopg
import pytest
import sqlalchemy
from django.conf import settings
from django.db import connections, transaction
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from holdfast.errors import ChainNotFound, StoreUnavailable
from holdfast.operations import Cancel, ClaimJobs, GetChains, Guard, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import completed, new_job
from tests.servers.postgres import shared_postgres

ISOLATION = ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")


@dataclass
class Sync:
    """An open blocking transaction: what goes into `tx=`, and what the application does with it."""

    tx: Any
    execute: Callable[[str], Any]
    commit: Callable[[], Any]
    rollback: Callable[[], Any]


@dataclass
class Async:
    """The same, async."""

    tx: Any
    execute: Callable[[str], Awaitable[Any]]
    commit: Callable[[], Awaitable[Any]]
    rollback: Callable[[], Awaitable[Any]]


@pytest.fixture
def table(connection: psycopg.Connection, store: PostgresStore) -> str:
    name = f'"{store.schema}".orders'
    connection.execute(f"create table {name} (n int)".encode())
    return name


def url(driver: str) -> str:
    server = shared_postgres()
    return f"postgresql+{driver}://postgres@/postgres?host={server.home}&port={server.port}"


@contextmanager
def with_psycopg(isolation: str) -> Generator[Sync]:
    with psycopg.connect(_dsn()) as connection:
        connection.isolation_level = psycopg.IsolationLevel[isolation.replace(" ", "_")]
        yield Sync(connection, lambda sql: connection.execute(sql.encode()), connection.commit, connection.rollback)


@contextmanager
def with_session(isolation: str) -> Generator[Sync]:
    engine = sqlalchemy.create_engine(url("psycopg"), isolation_level=isolation)
    try:
        with Session(engine) as session:
            yield Sync(session, lambda sql: session.execute(sqlalchemy.text(sql)), session.commit, session.rollback)
    finally:
        engine.dispose()


@contextmanager
def with_alchemy_connection(isolation: str) -> Generator[Sync]:
    engine = sqlalchemy.create_engine(url("psycopg"), isolation_level=isolation)
    try:
        with engine.connect() as connection:

            def execute(sql: str) -> Any:
                return connection.execute(sqlalchemy.text(sql))

            yield Sync(connection, execute, connection.commit, connection.rollback)
    finally:
        engine.dispose()


@contextmanager
def with_django(isolation: str) -> Generator[Sync]:
    _django()
    wrapper = connections["default"]
    wrapper.settings_dict["OPTIONS"] = {
        "isolation_level": psycopg.IsolationLevel[isolation.replace(" ", "_")],
    }
    wrapper.close()
    atomic = transaction.atomic()
    atomic.__enter__()
    open_ = [True]

    def end(error: BaseException | None) -> None:
        open_[0] = False
        atomic.__exit__(None if error is None else type(error), error, None)

    def execute(sql: str) -> None:
        with wrapper.cursor() as cursor:
            cursor.execute(sql)

    try:
        yield Sync(wrapper, execute, lambda: end(None), lambda: end(RuntimeError()))
    finally:
        if open_[0]:
            end(RuntimeError())
        wrapper.close()


@asynccontextmanager
async def with_async_psycopg(isolation: str) -> AsyncGenerator[Async]:
    async with await psycopg.AsyncConnection.connect(_dsn()) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel[isolation.replace(" ", "_")])

        def execute(sql: str) -> Any:
            return connection.execute(sql.encode())

        yield Async(connection, execute, connection.commit, connection.rollback)


@asynccontextmanager
async def with_asyncpg(isolation: str) -> AsyncGenerator[Async]:
    server = shared_postgres()
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    connection: Any = await connect(host=str(server.home), port=server.port, user="postgres", database="postgres")
    try:
        tx = connection.transaction(isolation=isolation.lower().replace(" ", "_"))
        await tx.start()
        yield Async(connection, connection.execute, tx.commit, tx.rollback)
    finally:
        await connection.close()


@asynccontextmanager
async def with_async_session(isolation: str, driver: str = "psycopg") -> AsyncGenerator[Async]:
    engine = create_async_engine(url(driver), isolation_level=isolation)
    try:
        async with AsyncSession(engine) as session:

            def execute(sql: str) -> Any:
                return session.execute(sqlalchemy.text(sql))

            yield Async(session, execute, session.commit, session.rollback)
    finally:
        await engine.dispose()


@asynccontextmanager
async def with_async_session_on_asyncpg(isolation: str) -> AsyncGenerator[Async]:
    async with with_async_session(isolation, "asyncpg") as opened:
        yield opened


@asynccontextmanager
async def with_async_alchemy_connection(isolation: str) -> AsyncGenerator[Async]:
    engine = create_async_engine(url("asyncpg"), isolation_level=isolation)
    try:
        async with engine.connect() as connection:

            def execute(sql: str) -> Any:
                return connection.execute(sqlalchemy.text(sql))

            yield Async(connection, execute, connection.commit, connection.rollback)
    finally:
        await engine.dispose()


SYNC = [with_psycopg, with_session, with_alchemy_connection, with_django]
ASYNC = [
    with_async_psycopg,
    with_asyncpg,
    with_async_session,
    with_async_session_on_asyncpg,
    with_async_alchemy_connection,
]


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("kind", SYNC, ids=lambda kind: kind.__name__)
class TestBlocking:
    def test_a_commit_makes_the_job_appear_with_the_row_it_belongs_to(
        self, kind: Any, isolation: str, store: PostgresStore, table: str, connection: psycopg.Connection
    ) -> None:
        job = new_job(key="order-1")
        with kind(isolation) as opened:
            opened.execute(f"insert into {table} values (1)")
            store.join_sync(opened.tx).perform(Start((job,)))
            assert store.perform_sync(GetChains((job.id,))) == [None]
            (again,) = store.join_sync(opened.tx).perform(Start((new_job(key="order-1"),)))
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

    def test_a_savepoint_takes_its_jobs_along(
        self, kind: Any, isolation: str, store: PostgresStore, table: str
    ) -> None:
        kept, dropped = new_job(), new_job()
        with kind(isolation) as opened:
            store.join_sync(opened.tx).perform(Start((kept,)))
            opened.execute("savepoint here")
            store.join_sync(opened.tx).perform(Start((dropped,)))
            opened.execute("rollback to savepoint here")

            opened.commit()

        found = store.perform_sync(GetChains((kept.id, dropped.id)))
        assert [chain is not None for chain in found] == [True, False]


@pytest.mark.parametrize("isolation", ISOLATION)
@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
class TestAsync:
    async def test_a_commit_makes_the_job_appear_with_the_row_it_belongs_to(
        self, kind: Any, isolation: str, store: PostgresStore, table: str, connection: psycopg.Connection
    ) -> None:
        job = new_job(key="order-1")
        async with kind(isolation) as opened:
            await opened.execute(f"insert into {table} values (1)")
            await store.join(opened.tx).perform(Start((job,)))
            (again,) = await store.join(opened.tx).perform(Start((new_job(key="order-1"),)))
            assert again.deduplicated
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

    async def test_a_chain_is_cancelled_only_with_the_commit(
        self, kind: Any, isolation: str, store: PostgresStore
    ) -> None:
        job = new_job()
        store.perform_sync(Start((job,)))
        async with kind(isolation) as opened:
            with pytest.raises(ChainNotFound):
                await store.join(opened.tx).perform(Cancel(("none",)))
            await store.join(opened.tx).perform(Cancel((job.id,)))
            (before,) = store.perform_sync(GetChains((job.id,)))

            await opened.commit()

        (after,) = store.perform_sync(GetChains((job.id,)))
        assert before is not None
        assert after is not None
        assert (before.last.status.value, after.last.status.value) == ("pending", "cancelled")


def test_an_older_snapshot_cannot_start_a_second_chain_of_a_key(store: PostgresStore) -> None:
    for isolation in ("REPEATABLE READ", "SERIALIZABLE"):
        key = isolation
        with with_psycopg(isolation) as opened:
            opened.execute("select 1")
            store.perform_sync(Start((new_job(key=key),)))

            with pytest.raises(psycopg.errors.SerializationFailure):
                store.join_sync(opened.tx).perform(Start((new_job(key=key),)))


def test_what_is_no_connection_is_refused_with_a_list_of_what_is_taken(store: PostgresStore) -> None:
    with pytest.raises(TypeError, match="psycopg Connection, a SQLAlchemy Session or Connection, or Django's"):
        store.join_sync(object())
    with pytest.raises(TypeError, match="asyncpg Connection"):
        store.join(object())


def test_a_blocking_connection_belongs_to_the_blocking_client(store: PostgresStore) -> None:
    with with_psycopg("READ COMMITTED") as opened, pytest.raises(TypeError, match="belongs to SyncClient"):
        store.join(opened.tx)


def test_a_connection_that_commits_each_statement_is_refused(
    store: PostgresStore, connection: psycopg.Connection
) -> None:
    with pytest.raises(ValueError, match="open a transaction"):
        store.join_sync(connection).perform(Start((new_job(),)))
    with connection.transaction():
        store.join_sync(connection).perform(Start((new_job(),)))


async def test_an_asyncpg_connection_outside_a_transaction_is_refused(store: PostgresStore) -> None:
    async with with_asyncpg("READ COMMITTED") as opened:
        await opened.rollback()
        with pytest.raises(ValueError, match="open a transaction"):
            await store.join(opened.tx).perform(Start((new_job(),)))


def test_django_takes_an_alias_and_refuses_autocommit(store: PostgresStore) -> None:
    _django()
    with pytest.raises(ValueError, match="open a transaction"):
        store.join_sync("default").perform(Start((new_job(),)))
    with transaction.atomic():
        store.join_sync("default").perform(Start((new_job(),)))
    connections["default"].close()


def test_missing_tables_are_named_in_the_applications_transaction() -> None:
    server = shared_postgres()
    store = PostgresStore(server.address(schema="nowhere", notify="off"))
    with with_psycopg("READ COMMITTED") as opened, pytest.raises(StoreUnavailable, match="holdfast migrate"):
        store.join_sync(opened.tx).perform(Start((new_job(),)))


def test_an_attempts_own_transaction_commits_its_writes_with_the_job(
    store: PostgresStore, table: str, connection: psycopg.Connection
) -> None:
    store.perform_sync(Start((new_job(),)))
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", "token"))

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


def _dsn() -> str:
    server = shared_postgres()
    return f"host={server.home} port={server.port} user=postgres dbname=postgres"


def _django() -> None:
    server = shared_postgres()
    if not settings.configured:
        settings.configure(
            DATABASES={
                "default": {
                    "ENGINE": "django.db.backends.postgresql",
                    "NAME": "postgres",
                    "USER": "postgres",
                    "HOST": str(server.home),
                    "PORT": str(server.port),
                }
            },
            USE_TZ=True,
        )
        django.setup()
