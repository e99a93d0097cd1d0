"""A transaction that ends below the objects of the driver is detected: by libpq, or by methods of a base class.

SQLite rejects these calls. On PostgreSQL they take effect, and the error says so. SQL stores only.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import suppress
from typing import Any

import pytest

from holdfast import Retry
from holdfast.testing.conformance.barrier import drive
from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

DETECTED = "is not allowed here|was ended by a statement of the application|was ended inside the block"
NO_DELAY = Retry(initial=0, jitter=0, max_attempts=3)

AFTERWARDS = ["nothing", "begin", "chain", "statement"]
"""What follows the end of the transaction: a new one by BEGIN, by AND CHAIN, or by the next statement of the driver."""

BLOCKS = ["complete", "prepare", "atomic prepare", "tx_step"]


async def end_below(tx: Any, how: str, afterwards: str) -> None:
    """End the transaction of a connection below the objects of its driver."""
    if hasattr(tx, "pgconn"):
        tx.pgconn.exec_(f"{how}{' and chain' if afterwards == 'chain' else ''}".encode())
        if afterwards == "begin":
            tx.pgconn.exec_(b"begin")
    else:
        with suppress(sqlite3.DatabaseError):
            await end_sqlite(tx, how)
        if afterwards in ("begin", "chain"):
            with suppress(sqlite3.DatabaseError, RuntimeError):
                await run(tx.execute("begin immediate"))


async def end_sqlite(tx: Any, how: str) -> None:
    end = getattr(sqlite3.Connection, how)
    if hasattr(tx, "_execute"):  # aiosqlite: every call belongs to its thread
        await tx._execute(end, tx._conn)
    else:
        end(tx if isinstance(tx, sqlite3.Connection) else tx._connection)


async def first_error(harness: ClientHarness, chain: Any) -> str:
    """The error of the first attempt."""
    return str((await harness.client.report(chain.id)).attempts[0].error)


@pytest.mark.parametrize("afterwards", AFTERWARDS)
@pytest.mark.parametrize("how", ["commit", "rollback"])
@pytest.mark.parametrize("block", BLOCKS)
async def test_an_attempt_whose_transaction_ended_below_the_driver_fails(
    harness: ClientHarness, application: Application, block: str, how: str, afterwards: str
) -> None:
    async def write(tx: Any, number: int) -> int:
        await application.note(tx, f"before {number}")
        if number == 1:
            await end_below(tx, how, afterwards)
            if afterwards == "statement":
                await application.note(tx, "after")
        return number

    def plain(tx: Any, number: int) -> Any:
        return write(tx, number) if harness.mode is Mode.ASYNC else drive(write(tx, number))

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if block == "tx_step":
            await attempt.call("tx_step", "write", plain, attempt.job.attempt, returns=int)
        elif block != "complete":
            async with attempt.prepare("atomic" if "atomic" in block else "staged") as tx:
                await write(tx, attempt.job.attempt)
        async with attempt.complete() as done:
            if block == "complete":
                await write(done.tx, attempt.job.attempt)
            return done.output(attempt.job.attempt)

    chain = await harness.client.start(harness.job(charge, retry=NO_DELAY).bind())
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == 2
    assert re.search(DETECTED, await first_error(harness, chain))
    committed = how == "commit" and not harness.store.name.startswith("sqlite")
    assert [note for note in await application.notes() if note != "after"] == [
        *(["before 1"] if committed else []),
        "before 2",
    ]


@pytest.mark.parametrize("afterwards", AFTERWARDS)
@pytest.mark.parametrize("how", ["commit", "rollback"])
async def test_completing_detects_an_end_below_the_driver(
    harness: ClientHarness, application: Application, how: str, afterwards: str
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    with pytest.raises(RuntimeError, match=DETECTED):
        await complete_and_end(harness, application, chain, None, how=how, afterwards=afterwards)

    assert (await harness.now(chain)).status == "pending"


@pytest.mark.parametrize("afterwards", AFTERWARDS)
@pytest.mark.parametrize("how", ["commit", "rollback"])
async def test_completing_detects_an_end_below_the_driver_of_the_application(
    harness: ClientHarness, application: Application, how: str, afterwards: str
) -> None:
    chain = await harness.client.start(harness.jobs.job(value).bind(1))

    async with application.transaction() as tx:
        with pytest.raises(RuntimeError, match="ended inside the block"):
            await complete_and_end(harness, application, chain, tx, how=how, afterwards=afterwards)
        await run(tx.rollback())

    assert (await harness.now(chain)).status == "pending"


async def complete_and_end(
    harness: ClientHarness, application: Application, chain: Any, tx: Any, *, how: str, afterwards: str
) -> None:
    async with harness.client.completing(chain, tx=tx) as current:
        await current.output(2)
        await end_below(current.tx, how, afterwards)
        if afterwards == "statement":
            await application.note(current.tx, "after")


@pytest.mark.parametrize("how", ["commit", "rollback"])
async def test_a_side_chain_is_not_started_after_an_end_below_the_driver(
    harness: ClientHarness, application: Application, how: str
) -> None:
    """The start would commit by itself."""
    side = harness.jobs.job(name="side")(value)

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            if attempt.job.attempt == 1:
                await end_below(done.tx, how, "nothing")
                await done.start(side.bind(1))
            return done.output(attempt.job.attempt)

    chain = await harness.client.start(harness.job(charge, retry=NO_DELAY).bind())
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == 2
    assert [each.type for each in (await harness.client.list_chains()).items] == [chain.type]


async def commit_the_driver(session: Any, how: str, afterwards: str) -> None:
    """End the transaction of the driver's connection below a session."""
    connection = await run(session.connection())
    raw = await connection.get_raw_connection() if hasattr(connection, "get_raw_connection") else connection.connection
    await end_below(raw.driver_connection, how, afterwards)


@pytest.mark.parametrize("afterwards", ["nothing", "statement"])
@pytest.mark.parametrize("how", ["commit", "rollback"])
@pytest.mark.parametrize("block", BLOCKS)
async def test_an_attempt_whose_session_ended_below_its_driver_fails(
    harness: ClientHarness, application: Application, block: str, how: str, afterwards: str
) -> None:
    async def write(session: Any, number: int) -> int:
        await run(session.execute(application.insert(f"before {number}")))
        if number == 1:
            await commit_the_driver(session, how, afterwards)
            if afterwards == "statement":
                await run(session.execute(application.insert("after")))
        return number

    def plain(session: Any, number: int) -> Any:
        return write(session, number) if harness.mode is Mode.ASYNC else drive(write(session, number))

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if block == "tx_step":
            await attempt.call("tx_step", "write", plain, attempt.job.attempt, returns=int, session=sessions)
        elif block != "complete":
            mode = "atomic" if "atomic" in block else "staged"
            async with attempt.prepare(mode, session=sessions) as session:
                await write(session, attempt.job.attempt)
        async with attempt.complete(session=sessions) as done:
            if block == "complete":
                await write(done.tx, attempt.job.attempt)
            return done.output(attempt.job.attempt)

    async with application.sessions() as sessions:
        chain = await harness.client.start(harness.job(charge, retry=NO_DELAY).bind())
        await harness.drain()
        assert await harness.client.wait(chain, timeout=60) == 2

    assert re.search(DETECTED, await first_error(harness, chain))
    assert [note for note in await application.notes() if note != "after"] == [
        *(["before 1"] if how == "commit" else []),
        "before 2",
    ]
