"""Our statements and payloads appear in no error and in no log record."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import closing
from contextvars import Context
from pathlib import Path
from typing import Literal

import pytest
import sqlalchemy
from sqlalchemy import event
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from holdfast.engine.operations import Start
from holdfast.stores.sqlite import SqliteStore
from holdfast.testing.builders import new_job

PAYLOAD = b"marked-payload-9471"
STATEMENT = "on_blocker_failure"
REFUSE = "create trigger refuse before insert on holdfast_job begin select raise(abort, 'refused'); end"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def refusing(path: Path) -> Iterator[SqliteStore]:
    """A store whose table refuses every new row."""
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(REFUSE)
    yield store
    store.close_sync()


def check(shown: str) -> None:
    assert PAYLOAD.decode() not in shown
    assert STATEMENT not in shown


def test_an_error_of_sqlalchemy(refusing: SqliteStore, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", echo=True)
    caplog.set_level(logging.DEBUG)

    with Session(engine) as session, pytest.raises(IntegrityError, match="refused") as caught:
        refusing.join_sync(session).perform(Start((new_job(input=PAYLOAD),)))
    engine.dispose()

    check("".join(traceback.format_exception(caught.value)))
    check(caplog.text)


@pytest.mark.parametrize("echo", [False, True, "debug"])
@pytest.mark.parametrize("name", [None, "shop"])
def test_the_log_of_sqlalchemy_contains_only_statements_of_the_application(
    path: Path, caplog: pytest.LogCaptureFixture, echo: bool | Literal["debug"], name: str | None
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "sqlalchemy.engine")
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", echo=echo, logging_name=name)
    store = SqliteStore(f"sqlite:///{path}")
    store.open_sync()

    with Session(engine) as session:
        session.execute(sqlalchemy.text("select 'before'"))
        store.join_sync(session).perform(Start((new_job(input=PAYLOAD),)))
        session.execute(sqlalchemy.text("select 'after'"))
        session.commit()
    engine.dispose()
    store.close_sync()

    check(caplog.text)
    assert "select 'before'" in caplog.text
    assert "select 'after'" in caplog.text
    assert "COMMIT" in caplog.text


async def test_the_log_of_sqlalchemy_contains_statements_of_other_tasks(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The other task logs between the beginning and the end of our statement."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "sqlalchemy.engine")
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    store = SqliteStore(f"sqlite:///{path}")
    await store.open()
    other = logging.getLogger("sqlalchemy.engine.Engine")
    logged: list[asyncio.Task[None]] = []
    ended_first: list[bool] = []

    async def log() -> None:
        other.info("select 'other task'")

    def begin(*_: object) -> None:
        if not logged:
            logged.append(asyncio.get_running_loop().create_task(log(), context=Context()))

    def end(*_: object) -> None:
        ended_first.append(logged[0].done())

    async with AsyncSession(engine) as session:
        event.listen(engine.sync_engine, "before_cursor_execute", begin)
        event.listen(engine.sync_engine, "after_cursor_execute", end)
        await store.join(session).perform(Start((new_job(input=PAYLOAD),)))
        await session.commit()
    await asyncio.gather(*logged)
    await engine.dispose()
    await store.close()

    check(caplog.text)
    assert ended_first[0]
    assert "select 'other task'" in caplog.text


def test_an_error_of_our_own_connection(refusing: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises(sqlite3.IntegrityError, match="refused") as caught:
        refusing.perform_sync(Start((new_job(input=PAYLOAD),)))

    check("".join(traceback.format_exception(caught.value)))
    check(caplog.text)
