"""All kinds of connections of an application to a SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from sqlalchemy import create_engine, event
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker


@contextmanager
def plain(path: Path) -> Generator[Any]:
    connection = sqlite3.connect(path)
    yield connection
    connection.close()


@contextmanager
def manual(path: Path) -> Generator[Any]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = lambda cursor, row: dict(zip("abcdefghijklmnopqrstuvwxyz", row, strict=False))
    connection.execute("begin immediate")
    yield connection
    connection.close()


@contextmanager
def session(path: Path) -> Generator[Any]:
    engine = create_engine(f"sqlite:///{path}")
    with Session(engine) as session:
        yield session
    engine.dispose()


@contextmanager
def scoped(path: Path) -> Generator[Any]:
    engine = create_engine(f"sqlite:///{path}")
    session = scoped_session(sessionmaker(engine))
    yield session
    session.remove()
    engine.dispose()


@contextmanager
def connection(path: Path) -> Generator[Any]:
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@contextmanager
def begun(path: Path) -> Generator[Any]:
    """SQLAlchemy's own recipe for SQLite: no transactions by the driver, BEGIN by an event."""
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def leave_alone(connection: Any, record: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.exec_driver_sql("begin immediate")

    with engine.connect() as connection:
        yield connection
    engine.dispose()


@asynccontextmanager
async def async_plain(path: Path) -> AsyncGenerator[Any]:
    async with aiosqlite.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


@asynccontextmanager
async def async_session(path: Path) -> AsyncGenerator[Any]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with AsyncSession(engine) as session:
        yield session
    await engine.dispose()


@asynccontextmanager
async def async_scoped(path: Path) -> AsyncGenerator[Any]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    session = async_scoped_session(async_sessionmaker(engine), scopefunc=asyncio.current_task)
    yield session
    await session.remove()
    await engine.dispose()


@asynccontextmanager
async def async_connection(path: Path) -> AsyncGenerator[Any]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with engine.connect() as connection:
        yield connection
    await engine.dispose()


BLOCKING = [plain, manual, session, scoped, connection, begun]
ASYNC = [async_plain, async_session, async_scoped, async_connection]
