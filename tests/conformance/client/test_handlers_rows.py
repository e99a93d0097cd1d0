"""`done.tx`: a handler's rows commit with its completion, or were never there. SQL stores only."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from holdfast import SyncAttempt, SyncClient
from tests.conformance.client.application import Application, run
from tests.conformance.client.faces import AttemptFace
from tests.conformance.client.scene import Scene, soon, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import place as place


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_a_handlers_rows_commit_with_its_completion(
    scene: Scene, application: Application, mode: str | None
) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        if mode:
            async with attempt.prepare(mode) as tx:
                await application.note(tx, "prepared")
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            return done.output(number)

    chain = await scene.client.start(scene.job(charge).bind(3))
    await scene.drain()

    assert await scene.client.wait(chain, timeout=1) == 3
    assert await application.notes() == (["charged", "prepared"] if mode else ["charged"])


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
@pytest.mark.parametrize("where", ["inside", "after", "swallowed"])
async def test_an_error_undoes_the_handlers_rows(
    scene: Scene, application: Application, mode: str | None, where: str
) -> None:
    """A staged prepare is a transaction of its own, and stays; an atomic one goes the way of the completion."""

    async def charge(attempt: AttemptFace, number: int) -> Any:
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

    chain = await scene.client.start(scene.job(charge).bind(3), max_attempts=1)
    await scene.drain()

    assert (await scene.now(chain)).status == "failed"
    assert await application.notes() == (["prepared"] if mode == "staged" else [])


async def test_an_error_in_the_applications_sql_fails_the_attempt_and_nothing_else(
    scene: Scene, application: Application
) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            if attempt.job.attempt == 1:
                await run(done.tx.execute("select no_such_column from nowhere"))
            await application.note(done.tx, "charged")
            return done.output(attempt.job.attempt)

    chain = await scene.client.start(scene.job(charge).bind())
    await scene.drain(advance=True)

    assert await scene.client.wait(chain, timeout=1) == 2
    assert await application.notes() == ["charged"]


async def test_a_swallowed_sql_error_inside_complete_cannot_commit_half(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        output = None
        try:
            async with attempt.complete() as done:
                await application.note(done.tx, "half")
                output = done.output(1)
                await run(done.tx.execute("select no_such_column from nowhere"))
        except Exception:
            return output

    chain = await scene.client.start(scene.job(charge).bind(), max_attempts=1)
    await scene.drain()

    assert (await scene.now(chain)).status == "failed"
    assert await application.notes() == []


async def test_rows_of_an_attempt_that_lost_its_claim_are_undone(scene: Scene, application: Application) -> None:
    """Completed from outside while the handler works: its rows must not stand beside the other's output."""

    async def charge(attempt: AttemptFace, number: int) -> Any:
        await _complete_elsewhere(scene, attempt.job.chain_id)
        async with attempt.complete() as done:
            await application.note(done.tx, "charged")
            return done.output("mine")

    chain = await scene.client.start(scene.job(charge).bind())
    await scene.drain()

    assert await scene.client.wait(chain, timeout=1) == "theirs"
    assert await application.notes() == []


async def _complete_elsewhere(scene: Scene, chain_id: str) -> None:
    """In a thread of its own, so that an async and a plain handler can do it alike."""

    def complete() -> None:
        with SyncClient(scene.store, scene.jobs).completing(chain_id) as current:
            current.output("theirs")

    thread = threading.Thread(target=complete)
    thread.start()
    thread.join(20)


async def test_many_attempts_with_rows_of_their_own_at_once(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            await application.note(done.tx, f"{number:03}")
            return done.output(number)

    charging = scene.job(charge)
    await scene.client.start_many([charging.bind(number) for number in range(50)])
    await soon(scene.drain(concurrency=10))

    assert await application.notes() == [f"{number:03}" for number in range(50)]


async def test_a_client_joins_the_attempts_own_transaction(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete() as done:
            chain = await run(scene.client.client.start(double.bind(1), delay=1000, tx=done.tx))
            if attempt.job.attempt == 1:
                raise ValueError
            return done.output(chain.id)

    double = scene.jobs.job(value)
    chain = await scene.client.start(scene.job(charge).bind())
    await scene.drain()
    assert (await scene.client.list_chains(type=double)).items == []

    await scene.client.run_now(chain)
    await scene.drain()
    (joined,) = (await scene.client.list_chains(type=double)).items
    assert await scene.client.wait(chain, timeout=1) == joined.id


async def test_what_a_handler_completes_after_its_timeout_is_undone(scene: Scene, application: Application) -> None:
    """A plain handler cannot be stopped, and an async one may not listen; neither gets to keep its rows."""
    over = threading.Event()

    async def stubborn(attempt: AttemptFace, number: int) -> Any:
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

    chain = await scene.client.start(scene.job(stubborn, timeout=0.05).bind(), max_attempts=1)
    await scene.drain()
    await asyncio.to_thread(over.wait, 20)

    job = await scene.now(chain)
    assert (job.status, "took longer" in str(job.error)) == ("failed", True)
    assert await application.notes() == []


@pytest.mark.parametrize("mode", [None, "staged", "atomic"])
async def test_a_session_of_the_applications_own_carries_the_completion(
    scene: Scene, application: Application, mode: str | None
) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
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

    double = scene.jobs.job(value)
    async with application.sessions() as sessions:
        chain = await scene.client.start(scene.job(charge).bind())
        await scene.drain()
        assert (await scene.client.list_chains(type=double)).items == []
        assert await application.notes() == (["prepared 1"] if mode == "staged" else [])
        await scene.client.run_now(chain)
        await scene.drain()

    prepared = {None: [], "staged": ["prepared 1", "prepared 2"], "atomic": ["prepared 2"]}[mode]
    assert await scene.client.wait(chain, timeout=1) == 2
    assert await application.notes() == ["charged 2", *prepared]
    assert len((await scene.client.list_chains(type=double)).items) == 1


async def test_a_session_of_the_wrong_kind_fails_the_attempt(scene: Scene, application: Application) -> None:
    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.complete(session=object) as done:
            return done.output(1)

    chain = await scene.client.start(scene.job(charge).bind(), max_attempts=1)
    await scene.drain()

    job = await scene.now(chain)
    assert (job.status, "TypeError" in str(job.error)) == ("failed", True)
