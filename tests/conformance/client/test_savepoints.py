"""Savepoints are allowed in the transactions of attempts and completions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store


async def test_savepoints_are_allowed(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await run(done.tx.execute("savepoint here"))
            await application.note(done.tx, "undone")
            await run(done.tx.execute("rollback to savepoint here"))
            await application.note(done.tx, "kept")
            await run(done.tx.execute("release savepoint here"))
            if hasattr(done.tx, "transaction"):
                with suppress(ValueError):
                    async with psycopg_savepoint(harness, done.tx):
                        await application.note(done.tx, "undone too")
                        raise ValueError
                async with psycopg_savepoint(harness, done.tx):
                    await application.note(done.tx, "kept too")
            return done.output(1)

    chain = await harness.client.start(harness.job(charge).bind())
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == 1
    expected = ["kept"] if harness.store.name.startswith("sqlite") else ["kept", "kept too"]
    assert await application.notes() == expected


@asynccontextmanager
async def psycopg_savepoint(harness: ClientHarness, tx: Any) -> AsyncGenerator[None]:
    if harness.mode is Mode.ASYNC:
        async with tx.transaction():
            yield
    else:
        with tx.transaction():
            yield


async def test_savepoints_of_a_session_are_allowed(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete(session=sessions) as done:
            for note_text in ("undone", "kept"):
                savepoint = await run(done.tx.begin_nested())
                await run(done.tx.execute(application.insert(note_text)))
                await run(savepoint.commit() if note_text == "kept" else savepoint.rollback())
            return done.output(1)

    async with application.sessions() as sessions:
        chain = await harness.client.start(harness.job(charge).bind())
        await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == 1
    assert await application.notes() == ["kept"]


async def test_a_savepoint_of_a_session_that_is_left_open_commits_with_the_job(
    harness: ClientHarness, application: Application
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete(session=sessions) as done:
            for note_text in ("outer", "inner"):
                await run(done.tx.begin_nested())
                await run(done.tx.execute(application.insert(note_text)))
            return done.output(1)

    async with application.sessions() as sessions:
        chain = await harness.client.start(harness.job(charge).bind())
        await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == 1
    assert await application.notes() == ["inner", "outer"]


async def test_savepoints_inside_completing_with_tx_are_allowed(
    harness: ClientHarness, application: Application
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async with application.transaction() as tx:
        await run(tx.execute("savepoint around"))
        async with harness.client.completing(chain, tx=tx) as current:
            await run(tx.execute("savepoint within"))
            await application.note(tx, "undone")
            await run(tx.execute("rollback to savepoint within"))
            await application.note(tx, "kept")
            await current.output(2)
        await run(tx.execute("release savepoint around"))

    assert await harness.client.wait(chain, timeout=60) == 2
    assert await application.notes() == ["kept"]
