"""A lone start or end is told by its own commit, so that nobody who waits for it waits for one more round trip."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.ids import new_token
from holdfast.operations import ClaimJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore, notification
from holdfast.stores.postgres.notification import Message
from holdfast.testing.builders import completed, new_job


@pytest.fixture
def listener(store: PostgresStore, connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute(f'listen "{notification.channel(store.schema)}"'.encode())
    return connection


def heard(listener: psycopg.Connection) -> tuple[Message, str]:
    """The next notification, and the last statement of the session that sent it."""
    notice = next(listener.notifies(timeout=30, stop_after=1))
    row = listener.execute("select query from pg_stat_activity where pid = %s", [notice.pid]).fetchone()
    assert row is not None
    return notification.read(notice.payload), row[0]


def test_a_lone_start_is_told_by_its_own_commit(store: PostgresStore, listener: psycopg.Connection) -> None:
    job = new_job()

    store.perform_sync(Start((job,)))

    message, statement = heard(listener)
    assert message.d == [job.type]
    assert "insert into" in statement


def test_a_lone_end_is_told_by_its_own_commit(store: PostgresStore, listener: psycopg.Connection) -> None:
    store.perform_sync(Start((new_job(),)))
    heard(listener)
    (job,) = store.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", new_token()))

    store.perform_sync(Settle((completed(job),)))

    message, statement = heard(listener)
    assert message.f == [job.chain_id]
    assert "update" in statement
