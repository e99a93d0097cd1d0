"""All kinds of connections of an application, each with an open transaction on the test server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import django
import psycopg
import sqlalchemy
from django import db
from django.conf import settings
from django.db import connections, transaction
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.servers.postgres import shared_postgres


@dataclass
class Sync:
    """An open blocking transaction: the value for `tx=`, and what the application can do with it."""

    tx: Any
    execute: Callable[[str], Any]
    commit: Callable[[], Any]
    rollback: Callable[[], Any]
    savepoint: Callable[[], AbstractContextManager[Any]]


@dataclass
class Async:
    """An open async transaction."""

    tx: Any
    execute: Callable[[str], Awaitable[Any]]
    commit: Callable[[], Awaitable[Any]]
    rollback: Callable[[], Awaitable[Any]]
    savepoint: Callable[[], AbstractAsyncContextManager[Any]]


@contextmanager
def psycopg_connection(isolation: str) -> Generator[Sync]:
    with psycopg.connect(dsn()) as connection:
        connection.isolation_level = _level(isolation)

        def execute(sql: str) -> Any:
            return connection.execute(sql.encode())

        yield Sync(connection, execute, connection.commit, connection.rollback, connection.transaction)


@contextmanager
def alchemy_session(isolation: str) -> Generator[Sync]:
    engine = sqlalchemy.create_engine(url("psycopg"), isolation_level=isolation)
    try:
        with Session(engine) as session:
            yield _alchemy(session)
    finally:
        engine.dispose()


@contextmanager
def alchemy_connection(isolation: str) -> Generator[Sync]:
    engine = sqlalchemy.create_engine(url("psycopg"), isolation_level=isolation)
    try:
        with engine.connect() as connection:
            yield _alchemy(connection)
    finally:
        engine.dispose()


@contextmanager
def django_connection(isolation: str) -> Generator[Sync]:
    with _django(isolation, lambda: connections["default"]) as opened:
        yield opened


@contextmanager
def django_default(isolation: str) -> Generator[Sync]:
    with _django(isolation, lambda: db.connection) as opened:
        yield opened


@contextmanager
def django_alias(isolation: str) -> Generator[Sync]:
    with _django(isolation, lambda: "default") as opened:
        yield opened


@asynccontextmanager
async def async_psycopg_connection(isolation: str) -> AsyncGenerator[Async]:
    async with await psycopg.AsyncConnection.connect(dsn()) as connection:
        await connection.set_isolation_level(_level(isolation))

        def execute(sql: str) -> Any:
            return connection.execute(sql.encode())

        yield Async(connection, execute, connection.commit, connection.rollback, connection.transaction)


@asynccontextmanager
async def asyncpg_connection(isolation: str) -> AsyncGenerator[Async]:
    server = shared_postgres()
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    connection: Any = await connect(host=str(server.home), port=server.port, user="postgres", database="postgres")
    try:
        tx = connection.transaction(isolation=isolation.lower().replace(" ", "_"))
        await tx.start()
        yield Async(connection, connection.execute, tx.commit, tx.rollback, connection.transaction)
    finally:
        await connection.close()


@asynccontextmanager
async def async_session_on_psycopg(isolation: str) -> AsyncGenerator[Async]:
    async with _engine("psycopg", isolation) as engine, AsyncSession(engine) as session:
        yield _async_alchemy(session)


@asynccontextmanager
async def async_session_on_asyncpg(isolation: str) -> AsyncGenerator[Async]:
    async with _engine("asyncpg", isolation) as engine, AsyncSession(engine) as session:
        yield _async_alchemy(session)


@asynccontextmanager
async def async_connection_on_psycopg(isolation: str) -> AsyncGenerator[Async]:
    async with _engine("psycopg", isolation) as engine, engine.connect() as connection:
        yield _async_alchemy(connection)


@asynccontextmanager
async def async_connection_on_asyncpg(isolation: str) -> AsyncGenerator[Async]:
    async with _engine("asyncpg", isolation) as engine, engine.connect() as connection:
        yield _async_alchemy(connection)


SYNC: list[Any] = [
    psycopg_connection,
    alchemy_session,
    alchemy_connection,
    django_connection,
    django_default,
    django_alias,
]
ASYNC: list[Any] = [
    async_psycopg_connection,
    asyncpg_connection,
    async_session_on_psycopg,
    async_session_on_asyncpg,
    async_connection_on_psycopg,
    async_connection_on_asyncpg,
]


def dsn() -> str:
    server = shared_postgres()
    return f"host={server.home} port={server.port} user=postgres dbname=postgres"


def configure_django() -> None:
    """Configure the test server as the database. The settings of Django are global."""
    server = shared_postgres()
    if not settings.configured:
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "USER": "postgres",
            "HOST": str(server.home),
            "PORT": str(server.port),
        }
        settings.configure(DATABASES={"default": database}, USE_TZ=True)
        django.setup()


@contextmanager
def _django(isolation: str, tx: Callable[[], Any]) -> Generator[Sync]:
    configure_django()
    wrapper = connections["default"]
    wrapper.close()
    wrapper.settings_dict["OPTIONS"] = {"isolation_level": _level(isolation)}
    outermost = transaction.atomic()
    outermost.__enter__()
    ended: list[bool] = []

    def end(error: BaseException | None) -> None:
        ended.append(True)
        outermost.__exit__(None if error is None else type(error), error, None)

    def execute(sql: str) -> None:
        with wrapper.cursor() as cursor:
            cursor.execute(sql)

    try:
        yield Sync(tx(), execute, lambda: end(None), lambda: end(RuntimeError()), transaction.atomic)
    finally:
        if not ended:
            end(RuntimeError())
        wrapper.close()
        wrapper.settings_dict["OPTIONS"] = {}


def _alchemy(tx: Session | sqlalchemy.Connection) -> Sync:
    return Sync(tx, lambda sql: tx.execute(sqlalchemy.text(sql)), tx.commit, tx.rollback, tx.begin_nested)


def _async_alchemy(tx: AsyncSession | AsyncConnection) -> Async:
    return Async(tx, lambda sql: tx.execute(sqlalchemy.text(sql)), tx.commit, tx.rollback, tx.begin_nested)


@asynccontextmanager
async def _engine(driver: str, isolation: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_async_engine(url(driver), isolation_level=isolation)
    try:
        yield engine
    finally:
        await engine.dispose()


def url(driver: str) -> str:
    server = shared_postgres()
    return f"postgresql+{driver}://postgres@/postgres?host={server.home}&port={server.port}"


def _level(isolation: str) -> psycopg.IsolationLevel:
    return psycopg.IsolationLevel[isolation.replace(" ", "_")]
