"""The end of a transaction that was not rejected is detected before the outcome is written."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transaction_ending import REJECTED, end, outcome
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store


async def commit_below(session: Any) -> None:
    """Commit on the driver's connection below a session."""
    connection = await run(session.connection())
    raw = await connection.get_raw_connection() if hasattr(connection, "get_raw_connection") else connection.connection
    await run(raw.driver_connection.commit())


@pytest.mark.parametrize("block", ["complete", "prepare", "atomic prepare"])
async def test_a_commit_below_a_session_is_detected_although_a_new_transaction_is_open(
    harness: ClientHarness, application: Application, block: str
) -> None:
    async def commit_and_continue(attempt: AttemptAdapter, session: Any) -> None:
        await run(session.execute(application.insert(f"before {attempt.job.attempt}")))
        if attempt.job.attempt == 1:
            await commit_below(session)
        await run(session.execute(application.insert(f"after {attempt.job.attempt}")))

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if block != "complete":
            async with attempt.prepare("atomic" if "atomic" in block else "staged", session=sessions) as session:
                await commit_and_continue(attempt, session)
        async with attempt.complete(session=sessions) as done:
            if block == "complete":
                await commit_and_continue(attempt, done.tx)
            return done.output(attempt.job.attempt)

    async with application.sessions() as sessions:
        first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert ("the transaction was ended by a statement of the application" in str(first.error), output) == (True, 2)
    assert await application.notes() == ["after 2", "before 1", "before 2"]


@pytest.mark.parametrize("begins", [False, True])
async def test_complete_detects_a_commit_by_a_cursor_of_the_applications_own(
    harness: ClientHarness, application: Application, begins: bool
) -> None:
    """SQLite rejects it. On PostgreSQL the rows are committed, and the error says so."""

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            if attempt.job.attempt == 1:
                with suppress(sqlite3.DatabaseError):
                    await commit_unseen(done.tx, begins)
            return done.output(attempt.job.attempt)

    first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    rejects = harness.store.name.startswith("sqlite")
    expected = REJECTED if rejects else "the rows written before it are committed"
    assert (first.status, expected in str(first.error), output) == ("pending", True, 2)
    assert await application.notes() == (["charged"] if rejects else ["charged", "charged"])


@pytest.mark.parametrize("begins", [False, True])
async def test_completing_detects_a_commit_by_a_cursor_of_the_applications_own(
    harness: ClientHarness, application: Application, begins: bool
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async def complete() -> None:
        async with harness.client.completing(chain) as current:
            with suppress(sqlite3.DatabaseError):
                await commit_unseen(current.tx, begins)
            await current.output(2)

    with pytest.raises(RuntimeError, match=f"{REJECTED}|ended by a statement of the application"):
        await complete()

    assert (await harness.now(chain)).status == "pending"


async def commit_unseen(tx: Any, begins: bool) -> None:
    if hasattr(tx, "transaction"):
        cursor: Any = (psycopg.AsyncClientCursor if hasattr(tx, "__aenter__") else psycopg.ClientCursor)(tx)
        await run(cursor.execute("commit; begin" if begins else "commit"))
    else:
        connection = tx if isinstance(tx, sqlite3.Connection) else tx._connection
        cursor = sqlite3.Cursor(connection)
        cursor.execute("commit")
        if begins:
            cursor.execute("begin")


@pytest.mark.parametrize("call", ["commit", "rollback", "COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("begins_again", [False, True])
async def test_completing_detects_that_the_applications_transaction_ended(
    harness: ClientHarness, application: Application, call: str, begins_again: bool
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async def complete(tx: Any) -> None:
        async with harness.client.completing(chain, tx=tx) as current:
            await current.output(2)
            await end(tx, call)
            if begins_again:
                if harness.store.name.startswith("sqlite"):
                    await run(tx.execute("begin immediate"))
                await application.note(tx, "later")

    async with application.transaction() as tx:
        with pytest.raises(RuntimeError, match="ended inside the block"):
            await complete(tx)
        await run(tx.rollback())

    assert (await harness.now(chain)).status == "pending"


async def test_completing_detects_that_the_applications_session_committed(
    harness: ClientHarness, application: Application
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async def complete(session: Any) -> None:
        async with harness.client.completing(chain, tx=session) as current:
            await current.output(2)
            await run(session.commit())

    async with application.sessions() as sessions:
        session = sessions()
        with pytest.raises(RuntimeError, match="ended inside the block"):
            await complete(session)
        await run(session.rollback())
        await run(session.close())

    assert (await harness.now(chain)).status == "pending"
