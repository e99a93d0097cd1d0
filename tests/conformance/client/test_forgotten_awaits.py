"""A statement without `await` does not run: its block is rolled back. Async code on SQL stores."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncGenerator
from typing import Any, Literal

import pytest

from holdfast import Attempt, Client
from holdfast.testing.conformance import StoreFactory
from tests.conformance.client.application import Application
from tests.conformance.client.async_adapters import Mode
from tests.conformance.client.harness import ClientHarness
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

FORGOTTEN = "was not awaited, so it did not run: write `await {}`"


@pytest.fixture
async def harness(make_store: StoreFactory) -> AsyncGenerator[ClientHarness]:
    store = make_store()
    harness = ClientHarness(store, Mode.ASYNC)
    await store.open()
    try:
        yield harness
    finally:
        harness.threads.close()
        await store.close()


async def error_of(harness: ClientHarness, handler: Any) -> str:
    """The error of the handler's only attempt."""
    chain = await harness.client.start(harness.jobs.job(handler).bind(), max_attempts=1)
    await harness.drain()
    return str((await harness.now(chain)).error)


@pytest.mark.parametrize("many", [False, True], ids=["execute", "executemany"])
async def test_a_statement_of_a_cursor_in_complete_must_be_awaited(
    harness: ClientHarness, application: Application, many: bool
) -> None:
    async def charge(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            cursor = await opened(done.tx)
            _ = cursor.executemany(application.sql, [("b",)]) if many else cursor.execute(application.sql, ("b",))
            return done.output("done")

    error = await error_of(harness, charge)

    assert error.endswith(FORGOTTEN.format("cursor.executemany(...)" if many else "cursor.execute(...)"))
    assert await application.notes() == []


async def test_a_statement_in_complete_must_be_awaited(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            done.tx.execute(application.sql, ("booked",))
            return done.output("done")

    error = await error_of(harness, charge)

    assert error == f"RuntimeError: tx.execute(...) {FORGOTTEN.format('tx.execute(...)')}"
    assert await application.notes() == []


@pytest.mark.parametrize("mode", ["staged", "atomic"])
async def test_a_statement_in_prepare_must_be_awaited(
    harness: ClientHarness, application: Application, mode: Literal["staged", "atomic"]
) -> None:
    async def charge(attempt: Attempt) -> None:
        async with attempt.prepare(mode) as tx:
            await application.note(tx, "charged")
            tx.execute(application.sql, ("booked",))

    assert (await error_of(harness, charge)).endswith(FORGOTTEN.format("tx.execute(...)"))
    assert await application.notes() == []


async def test_a_statement_in_a_step_with_a_transaction_must_be_awaited(
    harness: ClientHarness, application: Application
) -> None:
    async def book(tx: Any) -> None:
        await application.note(tx, "charged")
        tx.execute(application.sql, ("booked",))

    async def charge(attempt: Attempt) -> None:
        await attempt.tx_step("book", book)

    assert (await error_of(harness, charge)).endswith(FORGOTTEN.format("tx.execute(...)"))
    assert await application.notes() == []


async def test_a_statement_in_completing_must_be_awaited(harness: ClientHarness, application: Application) -> None:
    client = Client(harness.store, harness.jobs)

    @harness.jobs.job
    async def approve() -> str:
        return "approved"

    chain = await client.start(approve.bind())

    async def complete() -> None:
        async with client.completing(chain) as current:
            await application.note(current.tx, "charged")
            current.tx.execute(application.sql, ("booked",))
            await current.output("by hand")

    with pytest.raises(RuntimeError, match=re.escape(FORGOTTEN.format("tx.execute(...)"))):
        await complete()

    assert await application.notes() == []
    assert (await harness.now(chain.id)).status == "pending"


async def test_a_statement_of_a_session_must_be_awaited(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: Attempt) -> str:
        async with attempt.complete(session=sessions) as done:
            await done.tx.execute(application.insert("charged"))
            done.tx.execute(application.insert("booked"))
            return done.output("done")

    async with application.sessions() as sessions:
        error = await error_of(harness, charge)

    assert error.endswith(FORGOTTEN.format("session.execute(...)"))
    assert await application.notes() == []


async def test_statements_may_be_awaited_in_tasks(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await asyncio.gather(application.note(done.tx, "a"), asyncio.create_task(application.note(done.tx, "b")))
            for _ in range(100):
                await done.tx.execute("select 1")
            return done.output("done")

    chain = await harness.client.start(harness.jobs.job(charge).bind())
    await harness.drain()

    assert (await harness.now(chain)).output == "done"
    assert await application.notes() == ["a", "b"]


async def opened(tx: Any) -> Any:
    """A cursor. On SQLite, opening one is awaited."""
    cursor = tx.cursor()
    return await cursor if inspect.isawaitable(cursor) else cursor
