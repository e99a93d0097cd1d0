"""Statements of the store, tokens and payloads appear in no error and in no log record."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from django.conf import settings
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker

from holdfast import Attempt, Client, HoldfastError, Jobs, Retry, SyncAttempt
from holdfast.engine.operations import ClaimJobs, GetJobs, Settle, Start, TypeTerms
from holdfast.stores.postgres import PostgresStore
from holdfast.testing import drain
from holdfast.testing.builders import completed, new_job
from tests.stores.postgres.app_connections import ASYNC, SYNC, configure_django, url

PAYLOAD = "marked-payload-9471"
TOKEN = "marked-token-5506"
STATEMENT = "on_blocker_failure"
"""A column that only statements of the store name."""
SECRETS = (PAYLOAD, PAYLOAD.encode().hex(), TOKEN, STATEMENT)
LOGGERS = ("sqlalchemy.engine", "sqlalchemy.pool", "django.db.backends", "psycopg", "asyncpg", "asyncio", "holdfast")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All log records, with the loggers of the engines and of Django at level DEBUG."""
    configure_django()
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.DEBUG)
    caplog.set_level(logging.DEBUG)
    settings.DEBUG = True
    yield caplog
    settings.DEBUG = False
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def check_log(logged: pytest.LogCaptureFixture, *secrets: str) -> None:
    formatter = logging.Formatter("%(message)s")
    check("\n".join(formatter.format(record) for record in logged.records), *secrets)


def check(shown: str, *secrets: str) -> None:
    for secret in secrets or SECRETS:
        assert secret not in shown, shown


def shown(error: BaseException) -> str:
    """The error and the whole chain behind it, as a log prints it, and with `repr`."""
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.fixture
def rejecting(store: PostgresStore, connection: psycopg.Connection) -> PostgresStore:
    """A store whose table rejects rows. The DETAIL of the server contains the row."""
    connection.execute(f'alter table "{store.schema}".job add constraint low check (priority < 5)'.encode())
    connection.execute(f'alter table "{store.schema}".job add constraint empty check (output is null)'.encode())
    return store


def marked() -> Start:
    return Start((new_job(input=PAYLOAD.encode(), priority=9),))


@pytest.mark.parametrize("kind", SYNC, ids=lambda kind: kind.__name__)
def test_an_error_of_a_blocking_driver(rejecting: PostgresStore, logged: pytest.LogCaptureFixture, kind: Any) -> None:
    with kind("READ COMMITTED") as opened, pytest.raises(Exception, match="low") as caught:
        rejecting.join_sync(opened.tx).perform(marked())

    check(shown(caught.value))
    check_log(logged)


@pytest.mark.parametrize("kind", ASYNC, ids=lambda kind: kind.__name__)
async def test_an_error_of_an_async_driver(
    rejecting: PostgresStore, logged: pytest.LogCaptureFixture, kind: Any
) -> None:
    async with kind("READ COMMITTED") as opened:
        with pytest.raises(Exception, match="low") as caught:
            await rejecting.join(opened.tx).perform(marked())

    check(shown(caught.value))
    check_log(logged)


def test_an_error_of_a_store_connection(rejecting: PostgresStore, logged: pytest.LogCaptureFixture) -> None:
    with pytest.raises(HoldfastError, match="low") as caught:
        rejecting.perform_sync(marked())

    check(shown(caught.value))
    check_log(logged)


async def test_an_error_of_an_async_store_connection(address: str, rejecting: PostgresStore) -> None:
    store = PostgresStore(address)

    with pytest.raises(HoldfastError, match="low") as caught:
        await store.perform(marked())
    await store.close()

    check(shown(caught.value))


def test_a_settlement_that_is_rejected(rejecting: PostgresStore, logged: pytest.LogCaptureFixture) -> None:
    rejecting.perform_sync(Start((new_job(),)))
    (job,) = rejecting.perform_sync(ClaimJobs((TypeTerms("resize", 60_000_000, 25),), 1, "worker", TOKEN))

    with pytest.raises(HoldfastError, match="empty") as caught:
        rejecting.perform_sync(Settle((completed(job, PAYLOAD.encode()),)))

    check(shown(caught.value))
    check_log(logged)


def test_an_application_still_recognises_the_error(rejecting: PostgresStore) -> None:
    engine = create_engine(url("psycopg"))

    with engine.connect() as connection, pytest.raises(DBAPIError) as caught:
        rejecting.join_sync(connection).perform(marked())
    engine.dispose()

    assert isinstance(caught.value.orig, psycopg.errors.CheckViolation)
    assert caught.value.orig.sqlstate == "23514"


def catching(engine: Any, tokens: list[str], store: PostgresStore) -> Jobs:
    """Jobs whose handlers catch an error of the database in `complete` and continue."""
    jobs = Jobs()

    def token_of(job_id: str) -> str:
        (record,) = store.perform_sync(GetJobs((job_id,)))
        assert record is not None
        return record.claim.token

    if not hasattr(engine, "sync_engine"):

        @jobs.job(name="finish", retry=Retry(max_attempts=1))
        def in_thread(attempt: SyncAttempt) -> str:
            with attempt.complete(session=sessionmaker(engine)) as done:
                tokens.append(token_of(attempt.job.id))
                with suppress(DataError):
                    done.tx.execute(text("select 1 / 0"))
                return done.output(PAYLOAD)

        return jobs

    @jobs.job(name="finish", retry=Retry(max_attempts=1))
    async def on_loop(attempt: Attempt) -> str:
        async with attempt.complete(session=async_sessionmaker(engine)) as done:
            tokens.append(token_of(attempt.job.id))
            with suppress(DBAPIError):
                await done.tx.execute(text("select 1 / 0"))
            return done.output(PAYLOAD)

    return jobs


@pytest.mark.parametrize("kind", ["blocking", "psycopg", "asyncpg"])
async def test_an_error_that_was_caught_in_complete(
    address: str, store: PostgresStore, logged: pytest.LogCaptureFixture, kind: str
) -> None:
    engine: Any = create_engine(url("psycopg")) if kind == "blocking" else create_async_engine(url(kind))
    tokens: list[str] = []
    jobs = catching(engine, tokens, store)

    async with Client(address, jobs) as client:
        chain: Any = await client.start(jobs["finish"].bind())
        (ended,) = await drain(client)
        reports = await client.report(chain.id)
    await engine.dispose() if kind != "blocking" else engine.dispose()

    (token,) = tokens
    assert ended.kind == "failed"
    assert ended.error is not None
    for stored in (str(ended.error), ended.error.traceback, repr(reports)):
        check(stored, PAYLOAD, token, STATEMENT)
    assert "nothing of this transaction is written" in str(ended.error)
    check_log(logged, PAYLOAD, token, STATEMENT)
