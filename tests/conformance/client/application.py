"""An application with a table in the database of its jobs."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiosqlite
import psycopg
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker

from tests.conformance.client.async_adapters import Mode
from tests.servers.postgres import shared_postgres


class Application:
    """Writes notes, with its own connections and with those that Holdfast lends to it."""

    def __init__(self, folder: Path | None, mode: Mode) -> None:
        self._file = None if folder is None else folder / "jobs.db"
        self._mode = mode
        self._table = f"note_{uuid4().hex}"
        self._placeholder = "%s" if folder is None else "?"

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with self.transaction() as connection:
            await run(connection.execute(f"create table {self._table} (text text)"))
        yield
        async with self.transaction() as connection:
            await run(connection.execute(f"drop table {self._table}"))

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Any]:
        """A connection with an open transaction: committed after the body, rolled back after an error."""
        connection = await self.connect()
        try:
            if self._file is not None:
                await run(connection.execute("begin immediate"))
            yield connection
            await run(connection.commit())
        except BaseException:
            await run(connection.rollback())
            raise
        finally:
            await run(connection.close())

    async def connect(self, *, autocommit: bool = False) -> Any:
        if self._file is not None:
            if self._mode is Mode.ASYNC:
                return await aiosqlite.connect(self._file, isolation_level=None)
            return sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
        server = shared_postgres()
        options: dict[str, Any] = {"host": str(server.home), "port": server.port, "user": "postgres"}
        if self._mode is Mode.ASYNC:
            return await psycopg.AsyncConnection.connect(dbname="postgres", autocommit=autocommit, **options)
        return psycopg.connect(dbname="postgres", autocommit=autocommit, **options)

    @asynccontextmanager
    async def sessions(self) -> AsyncGenerator[Callable[[], Any]]:
        """A factory of SQLAlchemy sessions, async or blocking by the mode."""
        server = shared_postgres()
        kind = "sqlite" if self._file is not None else "postgresql"
        where = f"/{self._file}" if self._file is not None else f"postgres@:{server.port}/postgres?host={server.home}"
        if self._mode is Mode.ASYNC:
            driver = "aiosqlite" if self._file is not None else "psycopg"
            engine = create_async_engine(f"{kind}+{driver}://{where}")
            yield async_sessionmaker(engine)
            await engine.dispose()
        else:
            blocking = create_engine(f"{kind}{'' if self._file is not None else '+psycopg'}://{where}")
            yield sessionmaker(blocking)
            blocking.dispose()

    @property
    def sql(self) -> str:
        """The statement that inserts a note, for a connection."""
        return f"insert into {self._table} values ({self._placeholder})"

    def insert(self, note_text: str) -> Any:
        """A SQLAlchemy statement that inserts a note."""
        return text(f"insert into {self._table} values (:note_text)").bindparams(note_text=note_text)

    async def note(self, connection: Any, note_text: str) -> None:
        """Insert a note with this connection, blocking or async."""
        await run(connection.execute(self.sql, (note_text,)))

    async def notes(self, connection: Any = None) -> list[str]:
        """The committed notes, or those that this connection sees."""
        if connection is not None:
            cursor = await run(connection.execute(f"select text from {self._table} order by text"))
            return [note_text for (note_text,) in await run(cursor.fetchall())]
        async with self.transaction() as connection:
            return await self.notes(connection)


async def run(answer: Any) -> Any:
    """The result of a method of an async or a blocking connection."""
    return await answer if inspect.isawaitable(answer) else answer
