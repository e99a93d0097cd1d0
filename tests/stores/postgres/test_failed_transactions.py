"""After a failed statement a transaction can only be rolled back. If the error was caught, the commit raises."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DataError, DBAPIError
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import sessionmaker

from holdfast import Attempt, Client, Jobs, Retry, SyncAttempt, SyncClient
from holdfast.engine.operations import GetChains, Start
from holdfast.stores.postgres import PostgresStore
from holdfast.testing import drain
from holdfast.testing.builders import new_job
from tests.stores.postgres.app_connections import url

ABORTED = "nothing of this transaction is written"


def fail_and_continue(connection: psycopg.Connection) -> None:
    with suppress(psycopg.errors.DivisionByZero):
        connection.execute("select 1 / 0")


async def fail_and_continue_async(connection: psycopg.AsyncConnection) -> None:
    with suppress(psycopg.errors.DivisionByZero):
        await connection.execute("select 1 / 0")


def test_a_commit_that_would_be_a_rollback_raises(store: PostgresStore) -> None:
    job = new_job()
    tx = store.begin_sync()
    tx.perform(Start((job,)))
    fail_and_continue(tx.native)

    with pytest.raises(RuntimeError, match=ABORTED):
        tx.commit()

    assert store.perform_sync(GetChains((job.id,))) == [None]


async def test_a_commit_that_would_be_a_rollback_raises_in_async_code_too(store: PostgresStore) -> None:
    job = new_job()
    tx = await store.begin()
    await tx.perform(Start((job,)))
    await fail_and_continue_async(tx.native)

    with pytest.raises(RuntimeError, match=ABORTED):
        await tx.commit()

    assert await store.perform(GetChains((job.id,))) == [None]
    await store.close()


def test_an_error_inside_a_savepoint_does_not_abort_the_transaction(store: PostgresStore) -> None:
    job = new_job()
    tx = store.begin_sync()
    tx.perform(Start((job,)))
    with suppress(psycopg.errors.DivisionByZero), tx.native.transaction():
        tx.native.execute("select 1 / 0")

    tx.commit()

    assert store.perform_sync(GetChains((job.id,))) != [None]


def declared() -> Jobs:
    jobs = Jobs()
    once = Retry(max_attempts=1)

    @jobs.job(retry=once)
    async def stage(attempt: Attempt) -> str:
        async with attempt.prepare(mode="staged") as tx:
            await fail_and_continue_async(tx)
        return "done"

    @jobs.job(retry=once)
    def stage_in_thread(attempt: SyncAttempt) -> str:
        with attempt.prepare(mode="staged") as tx:
            fail_and_continue(tx)
        return "done"

    @jobs.job(retry=once)
    async def finish(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await fail_and_continue_async(done.tx)
            return done.output("done")

    return jobs


@pytest.mark.parametrize("name", ["stage", "stage_in_thread", "finish"])
async def test_an_attempt_whose_writes_are_rolled_back_fails(name: str, address: str) -> None:
    jobs = declared()
    async with Client(address, jobs) as client:
        await client.start(jobs[name].bind())

        (ended,) = await drain(client)

    assert ended.kind == "failed"
    assert ABORTED in str(ended.error)


async def complete(client: Client, chain: Any, *, output: bool) -> None:
    async with client.completing(chain) as current:
        await fail_and_continue_async(current.tx)
        if output:
            await current.output("done")


@pytest.mark.parametrize("output", [True, False], ids=["an output", "no output"])
async def test_a_completion_whose_writes_are_rolled_back_raises(address: str, output: bool) -> None:
    jobs = declared()
    async with Client(address, jobs) as client:
        chain: Any = await client.start(jobs["stage"].bind())

        with pytest.raises(RuntimeError, match=ABORTED):
            await complete(client, chain, output=output)


def test_a_blocking_completion_whose_writes_are_rolled_back_raises(address: str) -> None:
    jobs = declared()
    with SyncClient(address, jobs) as client:
        chain: Any = client.start(jobs["stage"].bind())

        with pytest.raises(RuntimeError, match=ABORTED), client.completing(chain) as current:
            fail_and_continue(current.tx)


async def test_a_staged_session_whose_writes_are_rolled_back_fails_its_attempt(address: str) -> None:
    jobs = Jobs()
    engine = create_async_engine(url("psycopg"))

    @jobs.job(retry=Retry(max_attempts=1))
    async def stage(attempt: Attempt) -> str:
        async with attempt.prepare(session=async_sessionmaker(engine)) as session:
            with suppress(DataError):
                await session.execute(text("select 1 / 0"))
        return "done"

    async with Client(address, jobs) as client:
        await client.start(stage.bind())
        (ended,) = await drain(client)
    await engine.dispose()

    assert ended.kind == "failed"


async def test_a_staged_blocking_session_whose_writes_are_rolled_back_fails_its_attempt(address: str) -> None:
    jobs = Jobs()
    engine = create_engine(url("psycopg"))

    @jobs.job(retry=Retry(max_attempts=1))
    def stage(attempt: SyncAttempt) -> str:
        with attempt.prepare(session=sessionmaker(engine)) as session, suppress(DataError):
            session.execute(text("select 1 / 0"))
        return "done"

    async with Client(address, jobs) as client:
        await client.start(stage.bind())
        (ended,) = await drain(client)
    engine.dispose()

    assert ended.kind == "failed"


_END_SESSION = "select pg_terminate_backend(pg_backend_pid())"


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_a_session_that_loses_its_connection_fails_its_attempt_with_that_error(address: str, driver: str) -> None:
    jobs = Jobs()
    engine = create_async_engine(url(driver))

    @jobs.job(retry=Retry(max_attempts=1))
    async def lose(attempt: Attempt) -> str:
        async with attempt.complete(session=async_sessionmaker(engine)) as done:
            await done.tx.execute(text(_END_SESSION))
            return done.output("done")

    async with Client(address, jobs) as client:
        await client.start(lose.bind())
        (ended,) = await drain(client)
    await engine.dispose()

    assert isinstance(ended.cause, DBAPIError)
    assert "terminating connection" in str(ended.cause)


async def test_a_blocking_session_that_loses_its_connection_fails_its_attempt_with_that_error(address: str) -> None:
    jobs = Jobs()
    engine = create_engine(url("psycopg"))

    @jobs.job(retry=Retry(max_attempts=1))
    def lose(attempt: SyncAttempt) -> str:
        with attempt.complete(session=sessionmaker(engine)) as done:
            done.tx.execute(text(_END_SESSION))
            return done.output("done")

    async with Client(address, jobs) as client:
        await client.start(lose.bind())
        (ended,) = await drain(client)
    engine.dispose()

    assert isinstance(ended.cause, DBAPIError)
    assert "terminating connection" in str(ended.cause)
