"""Only Holdfast ends the transactions that it lends. Other ends are rejected or detected. SQL stores only."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text

from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.transaction_ending import METHODS, REJECTED, end, outcome
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

TEXTS = ["COMMIT", "rollback", "Begin", "end", " /* done */ commit -- now"]
POSTGRES_TEXTS = ["start transaction", "ABORT", "prepare transaction 'x'", "select ';'; commit; begin"]
CALLS = [*METHODS, "with", *TEXTS]
SESSION_CALLS = [
    *METHODS, "begin", "reset", "invalidate", "connection.commit", "connection.rollback", "connection.close", *TEXTS,
]  # fmt: skip


async def end_session(session: Any, call: str) -> None:
    if call.startswith("connection."):
        await run(getattr(await run(session.connection()), call.partition(".")[2])())
    elif call.isidentifier() and hasattr(session, call):
        await run(getattr(session, call)())
    else:
        await run(session.execute(text(call)))


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
