"""Our statements and payloads appear in no error and in no log record."""

from __future__ import annotations

import logging
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.exc import IntegrityError
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


def test_an_error_of_our_own_connection(refusing: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises(sqlite3.IntegrityError, match="refused") as caught:
        refusing.perform_sync(Start((new_job(input=PAYLOAD),)))

    check("".join(traceback.format_exception(caught.value)))
    check(caplog.text)
