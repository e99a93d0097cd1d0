"""`done.tx`: a handler's rows commit or roll back with its completion. SQL stores only."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from holdfast import SyncAttempt, SyncClient
from tests.conformance.client.application import Application, run
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_a_handlers_rows_commit_with_its_completion(
    harness: ClientHarness, application: Application, mode: str | None
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode) as tx:
                await application.note(tx, "prepared")
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            return done.output(number)

    chain = await harness.client.start(harness.job(charge).bind(3))
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == 3
    assert await application.notes() == (["charged", "prepared"] if mode else ["charged"])


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
@pytest.mark.parametrize("where", ["inside", "after", "swallowed"])
async def test_an_error_rolls_back_the_handlers_rows(
    harness: ClientHarness, application: Application, mode: str | None, where: str
) -> None:
    """A staged prepare is a separate transaction and stays committed. An atomic one is rolled back."""

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode) as tx:
                await application.note(tx, "prepared")
        output = None
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "charged")
                output = done.output(number)
                if where != "after":
                    raise ValueError
        except ValueError:
            if where == "inside":
                raise
            return output
        raise ValueError

    chain = await harness.client.start(harness.job(charge).bind(3), max_attempts=1)
    await harness.drain()

    assert (await harness.now(chain)).status == "failed"
    assert await application.notes() == (["prepared"] if mode == "staged" else [])


async def test_an_error_in_the_applications_sql_fails_the_attempt_and_nothing_else(
    harness: ClientHarness, application: Application
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            if attempt.job.attempt == 1:
                await run(done.tx.execute("select no_such_column from nowhere"))
            await application.note(done.tx, "charged")
            return done.output(attempt.job.attempt)

    chain = await harness.client.start(harness.job(charge).bind())
    await harness.drain(advance=True)

    assert await harness.client.wait(chain, timeout=60) == 2
    assert await application.notes() == ["charged"]


async def test_a_caught_sql_error_inside_complete_cannot_commit_a_part(
    harness: ClientHarness, application: Application
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        output = None
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "half")
                output = done.output(1)
                await run(done.tx.execute("select no_such_column from nowhere"))
        except Exception:
            return output

    chain = await harness.client.start(harness.job(charge).bind(), max_attempts=1)
    await harness.drain()

    assert (await harness.now(chain)).status == "failed"
    assert await application.notes() == []


async def test_rows_of_an_attempt_that_lost_its_claim_are_rolled_back(
    harness: ClientHarness, application: Application
) -> None:
    """The job is completed from outside while the handler runs: the handler's rows must not be committed."""

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        await _complete_elsewhere(harness, attempt.job.chain_id)
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            return done.output("mine")

    chain = await harness.client.start(harness.job(charge).bind())
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) == "theirs"
    assert await application.notes() == []


async def _complete_elsewhere(harness: ClientHarness, chain_id: str) -> None:
    """In a separate thread, so that async and plain handlers can call it."""

    def complete() -> None:
        with SyncClient(harness.store, harness.jobs).completing(chain_id) as current:
            current.output("theirs")

    thread = threading.Thread(target=complete)
    thread.start()
    thread.join(60)


async def test_many_attempts_with_rows_of_their_own_at_once(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            await application.note(done.tx, f"{number:03}")
            return done.output(number)

    charging = harness.job(charge)
    await harness.client.start_many([charging.bind(number) for number in range(50)])
    await in_time(harness.drain(concurrency=10))

    assert await application.notes() == [f"{number:03}" for number in range(50)]


async def test_a_client_joins_the_attempts_own_transaction(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete() as done:
            chain = await run(harness.client.client.start(double.bind(1), delay=1000, tx=done.tx))
            if attempt.job.attempt == 1:
                raise ValueError
            return done.output(chain.id)

    double = harness.jobs.job(value)
    chain = await harness.client.start(harness.job(charge).bind())
    await harness.drain()
    assert (await harness.client.list_chains(type=double)).items == []

    await harness.client.run_now(chain)
    await harness.drain()
    (joined,) = (await harness.client.list_chains(type=double)).items
    assert await harness.client.wait(chain, timeout=60) == joined.id


async def test_what_a_handler_completes_after_its_timeout_is_rolled_back(
    harness: ClientHarness, application: Application
) -> None:
    """A plain handler cannot be stopped, and an async handler may ignore it: the rows of both are rolled back."""
    over = threading.Event()

    async def stubborn(attempt: AttemptAdapter, number: int) -> Any:
        if isinstance(attempt.attempt, SyncAttempt):
            attempt.attempt.signal.wait_sync(20)
        else:
            with suppress(asyncio.CancelledError):
                await attempt.attempt.signal.wait()
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "too late")
                return done.output("too late")
        finally:
            over.set()

    chain = await harness.client.start(harness.job(stubborn, timeout=0.05).bind(), max_attempts=1)
    await harness.drain()
    await asyncio.to_thread(over.wait, 60)

    job = await harness.now(chain)
    assert (job.status, "took longer" in str(job.error)) == ("failed", True)
    assert await application.notes() == []


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_a_session_of_the_applications_own_includes_the_completion(
    harness: ClientHarness, application: Application, mode: str | None
) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode, session=sessions) as session:
                await run(session.execute(application.insert(f"prepared {attempt.job.attempt}")))
        async with attempt.complete(session=sessions) as done:
            await run(done.tx.execute(application.insert(f"charged {attempt.job.attempt}")))
            await done.start(double.bind(1), delay=1000)
            output = done.output(attempt.job.attempt)
        if attempt.job.attempt == 1:
            raise ValueError
        return output

    double = harness.jobs.job(value)
    async with application.sessions() as sessions:
        chain = await harness.client.start(harness.job(charge).bind())
        await harness.drain()
        assert (await harness.client.list_chains(type=double)).items == []
        assert await application.notes() == (["prepared 1"] if mode == "staged" else [])
        await harness.client.run_now(chain)
        await harness.drain()

    prepared = {None: [], "staged": ["prepared 1", "prepared 2"], "atomic": ["prepared 2"]}[mode]
    assert await harness.client.wait(chain, timeout=60) == 2
    assert await application.notes() == ["charged 2", *prepared]
    assert len((await harness.client.list_chains(type=double)).items) == 1


async def test_a_session_of_the_wrong_kind_fails_the_attempt(harness: ClientHarness, application: Application) -> None:
    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.complete(session=object) as done:
            return done.output(1)

    chain = await harness.client.start(harness.job(charge).bind(), max_attempts=1)
    await harness.drain()

    job = await harness.now(chain)
    assert (job.status, "TypeError" in str(job.error)) == ("failed", True)
