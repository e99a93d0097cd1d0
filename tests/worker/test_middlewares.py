"""Middlewares wrap each attempt; the first is outermost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from holdfast import Attempt, Bound, Fail, Reschedule, SyncAttempt
from tests.worker.harness import WorkerHarness

Next = Callable[[], Awaitable[Any]]

who: ContextVar[str] = ContextVar("who", default="unset")


def noting(name: str, notes: list[str]) -> Callable[[Any, Next], Awaitable[Any]]:
    async def middleware(attempt: Any, call_next: Next) -> Any:
        notes.append(f"{name} in")
        try:
            return await call_next()
        finally:
            notes.append(f"{name} out")

    return middleware


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_the_first_middleware_is_the_outermost(harness: WorkerHarness, plain: bool) -> None:
    notes: list[str] = []
    job_type = _declare(harness, lambda attempt: notes.append("handler"), plain=plain)

    chain = await harness.start(job_type.bind())
    async with harness.worker(middlewares=[noting("a", notes), noting("b", notes), noting("c", notes)]):
        await harness.ended(chain)

    assert notes == ["a in", "b in", "c in", "handler", "c out", "b out", "a out"]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_middlewares_see_the_job_and_the_value(harness: WorkerHarness, plain: bool) -> None:
    seen: list[Any] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        value = await call_next()
        seen.append((attempt.job.type, attempt.job.attempt, attempt.signal.aborted, value))
        return value

    chain = await harness.start(_declare(harness, lambda attempt: 42, plain=plain).bind())
    async with harness.worker(middlewares=[look]):
        await harness.ended(chain)

    assert seen == [("subject", 1, False, 42)]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_middlewares_see_the_handlers_error(harness: WorkerHarness, plain: bool) -> None:
    seen: list[BaseException] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except ValueError as error:
            seen.append(error)
            raise

    def fail(attempt: Any) -> None:
        raise ValueError("mine")

    chain = await harness.start(_declare(harness, fail, plain=plain).bind())
    async with harness.worker(middlewares=[look]):
        assert (await harness.ended(chain)).kind == "retrying"

    assert [str(error) for error in seen] == ["mine"]


@pytest.mark.parametrize("where", ["before", "after", "instead"])
async def test_an_error_in_a_middleware_is_a_failed_attempt_with_backoff(harness: WorkerHarness, where: str) -> None:
    async def broken(attempt: Any, call_next: Next) -> Any:
        if where == "before":
            raise ValueError("middleware")
        try:
            await call_next()
        finally:
            raise ValueError("middleware")

    def decide(attempt: Any) -> None:
        if where == "instead":
            raise ZeroDivisionError

    chain = await harness.start(_declare(harness, decide).bind())
    async with harness.worker(middlewares=[broken]):
        event = await harness.ended(chain)

    assert event.kind == "retrying"
    assert str(event.error) == "ValueError: middleware"
    job = await harness.job(chain)
    assert (job.attempt, job.status) == (1, "pending")
    assert job.scheduled_at is not None
    assert job.scheduled_at > job.created_at


@pytest.mark.parametrize(
    ("error", "kind"), [(Fail("enough"), "failed"), (Reschedule(delay=5), "rescheduled")], ids=["fail", "reschedule"]
)
async def test_a_middleware_may_raise_fail_or_reschedule(harness: WorkerHarness, error: Exception, kind: str) -> None:
    async def decisive(attempt: Any, call_next: Next) -> Any:
        raise error

    chain = await harness.start(_declare(harness, lambda attempt: None).bind())
    async with harness.worker(middlewares=[decisive]):
        assert (await harness.ended(chain)).kind == kind


async def test_a_middleware_may_return_a_value_without_calling_the_handler(harness: WorkerHarness) -> None:
    async def cached(attempt: Any, call_next: Next) -> Any:
        return "from the cache"

    def never(attempt: Any) -> None:
        raise AssertionError

    chain = await harness.start(_declare(harness, never).bind())
    async with harness.worker(middlewares=[cached]):
        await harness.ended(chain)

    assert (await harness.job(chain)).output == "from the cache"


async def test_a_middleware_may_catch_an_error_of_a_handler_without_complete(harness: WorkerHarness) -> None:
    async def forgiving(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except ValueError:
            return "never mind"

    def fail(attempt: Any) -> None:
        raise ValueError

    chain = await harness.start(_declare(harness, fail).bind())
    async with harness.worker(middlewares=[forgiving]):
        await harness.ended(chain)

    assert (await harness.job(chain)).output == "never mind"


@pytest.mark.parametrize("where", ["inside", "after", "in thread inside", "in thread after"])
async def test_a_middleware_cannot_catch_an_error_after_complete(harness: WorkerHarness, where: str) -> None:
    async def forgiving(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except ValueError:
            return "never mind"

    @harness.jobs.job
    async def side() -> None: ...

    @harness.jobs.job
    async def loop(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(side.bind(), delay=1000)
            value = done.output("done")
            if where == "inside":
                raise ValueError("too bad")
        raise ValueError("too bad") if value else AssertionError

    @harness.jobs.job
    def thread(attempt: SyncAttempt) -> str:
        with attempt.complete() as done:
            done.start(side.bind(), delay=1000)
            value = done.output("done")
            if where == "in thread inside":
                raise ValueError("too bad")
        raise ValueError("too bad") if value else AssertionError

    chain = await harness.start((thread if "thread" in where else loop).bind())
    async with harness.worker(middlewares=[forgiving]):
        event = await harness.ended(chain)

    assert (event.kind, str(event.error)) == ("retrying", "ValueError: too bad")
    assert (await harness.client.list_chains(type="side")).items == []


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_an_error_in_a_middleware_rolls_back_a_completion(harness: WorkerHarness, plain: bool) -> None:
    async def strict(attempt: Any, call_next: Next) -> Any:
        value = await call_next()
        if attempt.job.attempt == 1:
            raise ValueError("not like this")
        return value

    @harness.jobs.job
    async def side() -> None: ...

    if plain:

        @harness.jobs.job(name="completing")
        def completing(attempt: SyncAttempt) -> str:
            with attempt.complete() as done:
                done.start(side.bind(), delay=1000)
                return done.output("done")

    else:

        @harness.jobs.job(name="completing")
        async def completing_async(attempt: Attempt) -> str:
            async with attempt.complete() as done:
                await done.start(side.bind(), delay=1000)
                return done.output("done")

    chain = await harness.start(harness.jobs["completing"].bind())
    async with harness.worker(middlewares=[strict]):
        assert (await harness.ended(chain)).kind == "retrying"
        assert (await harness.client.list_chains(type="side")).items == []
        harness.clock.advance(100)
        assert (await harness.ended(chain, times=2)).kind == "completed"

    assert len((await harness.client.list_chains(type="side")).items) == 1


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_context_variables_are_seen_by_the_handler(harness: WorkerHarness, plain: bool) -> None:
    async def naming(attempt: Any, call_next: Next) -> Any:
        who.set(attempt.job.id)
        return await call_next()

    chains = [await harness.start(_declare(harness, lambda attempt: who.get(), plain=plain).bind())]
    chains.append(await harness.start(harness.jobs["subject"].bind()))
    async with harness.worker(middlewares=[naming]):
        for chain in chains:
            await harness.ended(chain)

    assert [(await harness.job(chain)).output for chain in chains] == [chain.id for chain in chains]
    assert who.get() == "unset"


async def test_a_middleware_is_cancelled_with_its_handler(harness: WorkerHarness) -> None:
    seen: list[str] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except asyncio.CancelledError:
            seen.append(attempt.signal.reason)
            raise

    @harness.jobs.job(timeout=0.02)
    async def long() -> None:
        await asyncio.get_running_loop().create_future()

    chain = await harness.start(long.bind())
    async with harness.worker(middlewares=[look]):
        await harness.ended(chain)

    assert seen == ["timeout"]


async def test_middlewares_see_a_continuation_as_the_value(harness: WorkerHarness) -> None:
    seen: list[Any] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        seen.append(await call_next())
        return seen[-1]

    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind()

    @harness.jobs.job
    async def second() -> int:
        return 2

    chain = await harness.start(first.bind())
    async with harness.worker(middlewares=[look]):
        await harness.recorder.receive("completed", chain_id=chain.id)

    assert isinstance(seen[0], Bound)
    assert seen[1] == 2


def _declare(harness: WorkerHarness, body: Callable[[Any], Any], *, plain: bool = False) -> Any:
    if plain:

        @harness.jobs.job(name="subject")
        def subject(attempt: SyncAttempt) -> Any:
            return body(attempt)

    else:

        @harness.jobs.job(name="subject")
        async def subject_async(attempt: Attempt) -> Any:
            return body(attempt)

    return harness.jobs["subject"]
