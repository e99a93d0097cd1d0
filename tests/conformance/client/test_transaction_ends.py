"""Only Holdfast ends the transactions that it lends. Other ends are rejected or detected. SQL stores only."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from holdfast.core.job import Job
from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

REJECTED = "is not allowed here"

METHODS = ["commit", "rollback", "close"]
TEXTS = ["COMMIT", "rollback", "Begin", "end", " /* done */ commit -- now"]
POSTGRES_TEXTS = ["start transaction", "ABORT", "prepare transaction 'x'", "select ';'; commit; begin"]
CALLS = [*METHODS, "with", *TEXTS]
SESSION_CALLS = [
    *METHODS, "begin", "reset", "invalidate", "connection.commit", "connection.rollback", "connection.close", *TEXTS,
]  # fmt: skip


async def end(tx: Any, call: str) -> None:
    """Try to end the transaction, as an application may do."""
    if call in METHODS:
        await run(getattr(tx, call)())
    elif call == "with" and hasattr(tx, "__aenter__"):
        async with tx:
            pass
    elif call == "with":
        with tx:
            pass
    else:
        await run(tx.execute(call))


async def end_session(session: Any, call: str) -> None:
    if call.startswith("connection."):
        await run(getattr(await run(session.connection()), call.partition(".")[2])())
    elif call.isidentifier() and hasattr(session, call):
        await run(getattr(session, call)())
    else:
        await run(session.execute(text(call)))


async def commit_below(session: Any) -> None:
    """Commit on the driver's connection below a session."""
    connection = await run(session.connection())
    raw = await connection.get_raw_connection() if hasattr(connection, "get_raw_connection") else connection.connection
    await run(raw.driver_connection.commit())


async def outcome(harness: ClientHarness, chain: Any) -> tuple[Job, Any]:
    """The job after its first attempt, and the output after the second."""
    await harness.drain()
    first = await harness.now(chain)
    await harness.client.run_now(chain)
    await harness.drain()
    return first, await harness.client.wait(chain, timeout=60)


@pytest.mark.parametrize(
    ("call", "swallowed"), [*((call, False) for call in CALLS), *((call, True) for call in METHODS)]
)
async def test_complete_rejects_what_would_end_its_transaction(
    harness: ClientHarness, application: Application, call: str, swallowed: bool
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            if attempt.job.attempt == 1:
                with suppress(*([RuntimeError] if swallowed else [])):
                    await end(done.tx, call)
            return done.output(attempt.job.attempt)

    first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert (first.status, REJECTED in str(first.error)) == ("pending", True)
    assert output == 2
    assert await application.notes() == ["charged"]


@pytest.mark.parametrize("call", POSTGRES_TEXTS)
async def test_complete_rejects_the_commands_of_postgresql(
    harness: ClientHarness, application: Application, call: str
) -> None:
    if harness.store.name.startswith("sqlite"):
        return  # SQLite runs one statement at a time, and has no such commands

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            if attempt.job.attempt == 1:
                await end(done.tx, call)
            return done.output(attempt.job.attempt)

    first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert (REJECTED in str(first.error), output) == (True, 2)
    assert await application.notes() == ["charged"]


@pytest.mark.parametrize("call", [*METHODS, "with", "COMMIT"])
@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_prepare_rejects_what_would_end_its_transaction(
    harness: ClientHarness, application: Application, call: str, mode: str
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode) as tx:
            await application.note(tx, f"prepared {attempt.job.attempt}")
            if attempt.job.attempt == 1:
                with suppress(RuntimeError):
                    await end(tx, call)
        async with attempt.complete() as done:
            return done.output(attempt.job.attempt)

    first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert (first.status, REJECTED in str(first.error)) == ("pending", True)
    assert output == 2
    assert await application.notes() == ["prepared 2"]


@pytest.mark.parametrize("call", [*METHODS, "with", "COMMIT"])
@pytest.mark.parametrize("swallowed", [False, True])
async def test_completing_rejects_what_would_end_its_transaction(
    harness: ClientHarness, application: Application, call: str, swallowed: bool
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async def complete() -> None:
        async with harness.client.completing(chain) as current:
            await application.note(current.tx, "approved")
            await current.output(2)
            with suppress(*([RuntimeError] if swallowed else [])):
                await end(current.tx, call)

    with pytest.raises(RuntimeError, match=REJECTED):
        await complete()

    assert (await harness.now(chain)).status == "pending"
    assert await application.notes() == []


@pytest.mark.parametrize(
    ("call", "swallowed"), [*((call, False) for call in SESSION_CALLS), *((call, True) for call in METHODS)]
)
async def test_a_session_rejects_what_would_end_its_transaction(
    harness: ClientHarness, application: Application, call: str, swallowed: bool
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete(session=sessions) as done:
            await run(done.tx.execute(application.insert("charged")))
            if attempt.job.attempt == 1:
                with suppress(*([RuntimeError] if swallowed else [])):
                    await end_session(done.tx, call)
            return done.output(attempt.job.attempt)

    async with application.sessions() as sessions:
        first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert (first.status, REJECTED in str(first.error)) == ("pending", True)
    assert output == 2
    assert await application.notes() == ["charged"]


@pytest.mark.parametrize("mode", ["staged", "atomic"])
@pytest.mark.parametrize("call", ["commit", "rollback", "COMMIT"])
async def test_a_session_in_prepare_rejects_what_would_end_its_transaction(
    harness: ClientHarness, application: Application, mode: str, call: str
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare(mode, session=sessions) as session:
            await run(session.execute(application.insert(f"prepared {attempt.job.attempt}")))
            if attempt.job.attempt == 1:
                with suppress(RuntimeError):
                    await end_session(session, call)
        async with attempt.complete(session=sessions) as done:
            return done.output(attempt.job.attempt)

    async with application.sessions() as sessions:
        first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert (REJECTED in str(first.error), output) == (True, 2)
    assert await application.notes() == ["prepared 2"]


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


async def test_a_session_used_as_a_context_manager_is_not_closed_by_it(
    harness: ClientHarness, application: Application
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete(session=sessions) as done:
            await run(done.tx.execute(application.insert("charged")))
            if attempt.job.attempt == 1:
                await end(done.tx, "with")
            return done.output(attempt.job.attempt)

    async with application.sessions() as sessions:
        first, output = await outcome(harness, await harness.client.start(harness.job(charge).bind()))

    assert (REJECTED in str(first.error), output) == (True, 2)
    assert await application.notes() == ["charged"]


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
