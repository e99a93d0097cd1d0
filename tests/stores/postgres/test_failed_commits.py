"""Commits that fail after the statement has returned rows: deferred constraints, a full disk."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.engine.operations import GetChains, Start
from holdfast.errors import StoreUnavailable
from holdfast.stores.postgres import PostgresStore
from holdfast.testing.builders import new_job


@pytest.fixture
def failing(store: PostgresStore, connection: psycopg.Connection) -> PostgresStore:
    """A store in which no commit of a new job succeeds."""
    schema = store.schema
    connection.execute(
        f"create function {schema}.refuse() returns trigger language plpgsql as "
        "$$ begin raise exception 'no room for the log' using errcode = '53100'; end $$;"
        f"create constraint trigger refuse after insert on {schema}.job deferrable initially deferred "
        f"for each row execute function {schema}.refuse()".encode()
    )
    return store


def test_a_blocking_start_reports_the_cause_and_writes_nothing(failing: PostgresStore) -> None:
    job = new_job()

    with pytest.raises(StoreUnavailable, match="no room for the log"):
        failing.perform_sync(Start((job,)))

    assert failing.perform_sync(GetChains((job.id,))) == [None]


async def test_an_async_start_reports_the_cause_and_writes_nothing(failing: PostgresStore) -> None:
    job = new_job()

    with pytest.raises(StoreUnavailable, match="no room for the log"):
        await failing.perform(Start((job,)))

    assert await failing.perform(GetChains((job.id,))) == [None]
    await failing.close()
