"""Middlewares: an onion around each attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from holdfast import Attempt, Bound, Fail, Reschedule, SyncAttempt
from tests.worker.stage import Stage

Next = Callable[[], Awaitable[Any]]

who: ContextVar[str] = ContextVar("who", default="nobody")


def noting(name: str, notes: list[str]) -> Callable[[Any, Next], Awaitable[Any]]:
    async def middleware(attempt: Any, call_next: Next) -> Any:
        notes.append(f"{name} in")
        try:
            return await call_next()
        finally:
            notes.append(f"{name} out")

    return middleware


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_the_first_is_the_outermost(stage: Stage, plain: bool) -> None:
    notes: list[str] = []
    job_type = _declare(stage, lambda attempt: notes.append("handler"), plain=plain)

    chain = await stage.start(job_type.bind())
    async with stage.worker(middlewares=[noting("a", notes), noting("b", notes), noting("c", notes)]):
        await stage.ended(chain)

    assert notes == ["a in", "b in", "c in", "handler", "c out", "b out", "a out"]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_they_see_the_job_and_the_value(stage: Stage, plain: bool) -> None:
    seen: list[Any] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        value = await call_next()
        seen.append((attempt.job.type, attempt.job.attempt, attempt.signal.aborted, value))
        return value

    chain = await stage.start(_declare(stage, lambda attempt: 42, plain=plain).bind())
    async with stage.worker(middlewares=[look]):
        await stage.ended(chain)

    assert seen == [("subject", 1, False, 42)]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_they_see_the_handlers_error(stage: Stage, plain: bool) -> None:
    seen: list[BaseException] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except ValueError as error:
            seen.append(error)
            raise

    def fail(attempt: Any) -> None:
        raise ValueError("mine")

    chain = await stage.start(_declare(stage, fail, plain=plain).bind())
    async with stage.worker(middlewares=[look]):
        assert (await stage.ended(chain)).kind == "retrying"

    assert [str(error) for error in seen] == ["mine"]


@pytest.mark.parametrize("where", ["before", "after", "instead"])
async def test_an_error_in_a_middleware_is_a_failed_attempt_with_backoff(stage: Stage, where: str) -> None:
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

    chain = await stage.start(_declare(stage, decide).bind())
    async with stage.worker(middlewares=[broken]):
        event = await stage.ended(chain)

    assert event.kind == "retrying"
    assert str(event.error) == "ValueError: middleware"
    job = await stage.job(chain)
    assert (job.attempt, job.status) == (1, "pending")
    assert job.scheduled_at > job.created_at


@pytest.mark.parametrize(
    ("error", "kind"), [(Fail("enough"), "failed"), (Reschedule(delay=5), "rescheduled")], ids=["fail", "reschedule"]
)
async def test_a_middleware_may_decide_by_raising(stage: Stage, error: Exception, kind: str) -> None:
    async def decisive(attempt: Any, call_next: Next) -> Any:
        raise error

    chain = await stage.start(_declare(stage, lambda attempt: None).bind())
    async with stage.worker(middlewares=[decisive]):
        assert (await stage.ended(chain)).kind == kind


async def test_a_middleware_may_answer_in_the_handlers_place(stage: Stage) -> None:
    async def cached(attempt: Any, call_next: Next) -> Any:
        return "from the cache"

    def never(attempt: Any) -> None:
        raise AssertionError

    chain = await stage.start(_declare(stage, never).bind())
    async with stage.worker(middlewares=[cached]):
        await stage.ended(chain)

    assert (await stage.job(chain)).output == "from the cache"


async def test_a_middleware_may_swallow_an_error_of_a_handler_that_completed_nothing(stage: Stage) -> None:
    async def forgiving(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except ValueError:
            return "never mind"

    def fail(attempt: Any) -> None:
        raise ValueError

    chain = await stage.start(_declare(stage, fail).bind())
    async with stage.worker(middlewares=[forgiving]):
        await stage.ended(chain)

    assert (await stage.job(chain)).output == "never mind"


@pytest.mark.parametrize("where", ["inside", "after", "in thread inside", "in thread after"])
async def test_no_middleware_can_save_a_completion_whose_handler_failed(stage: Stage, where: str) -> None:
    async def forgiving(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except ValueError:
            return "never mind"

    @stage.jobs.job
    async def side() -> None: ...

    @stage.jobs.job
    async def loop(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            await done.start(side.bind(), delay=1000)
            value = done.output("done")
            if where == "inside":
                raise ValueError("too bad")
        raise ValueError("too bad") if value else AssertionError

    @stage.jobs.job
    def thread(attempt: SyncAttempt) -> str:
        with attempt.complete() as done:
            done.start(side.bind(), delay=1000)
            value = done.output("done")
            if where == "in thread inside":
                raise ValueError("too bad")
        raise ValueError("too bad") if value else AssertionError

    chain = await stage.start((thread if "thread" in where else loop).bind())
    async with stage.worker(middlewares=[forgiving]):
        event = await stage.ended(chain)

    assert (event.kind, str(event.error)) == ("retrying", "ValueError: too bad")
    assert (await stage.client.list_chains(type="side")).items == []


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_an_error_in_a_middleware_undoes_a_completion(stage: Stage, plain: bool) -> None:
    async def strict(attempt: Any, call_next: Next) -> Any:
        value = await call_next()
        if attempt.job.attempt == 1:
            raise ValueError("not like this")
        return value

    @stage.jobs.job
    async def side() -> None: ...

    if plain:

        @stage.jobs.job(name="completing")
        def completing(attempt: SyncAttempt) -> str:
            with attempt.complete() as done:
                done.start(side.bind(), delay=1000)
                return done.output("done")

    else:

        @stage.jobs.job(name="completing")
        async def completing_async(attempt: Attempt) -> str:
            async with attempt.complete() as done:
                await done.start(side.bind(), delay=1000)
                return done.output("done")

    chain = await stage.start(stage.jobs["completing"].bind())
    async with stage.worker(middlewares=[strict]):
        assert (await stage.ended(chain)).kind == "retrying"
        assert (await stage.client.list_chains(type="side")).items == []
        stage.clock.advance(100)
        assert (await stage.ended(chain, times=2)).kind == "completed"

    assert len((await stage.client.list_chains(type="side")).items) == 1


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_context_variables_are_seen_by_the_handler(stage: Stage, plain: bool) -> None:
    async def naming(attempt: Any, call_next: Next) -> Any:
        who.set(attempt.job.id)
        return await call_next()

    chains = [await stage.start(_declare(stage, lambda attempt: who.get(), plain=plain).bind())]
    chains.append(await stage.start(stage.jobs["subject"].bind()))
    async with stage.worker(middlewares=[naming]):
        for chain in chains:
            await stage.ended(chain)

    assert [(await stage.job(chain)).output for chain in chains] == [chain.id for chain in chains]
    assert who.get() == "nobody"


async def test_a_middleware_is_cancelled_with_its_handler(stage: Stage) -> None:
    seen: list[str] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        try:
            return await call_next()
        except asyncio.CancelledError:
            seen.append(attempt.signal.reason)
            raise

    @stage.jobs.job(timeout=0.02)
    async def long() -> None:
        await asyncio.get_running_loop().create_future()

    chain = await stage.start(long.bind())
    async with stage.worker(middlewares=[look]):
        await stage.ended(chain)

    assert seen == ["timeout"]


async def test_a_continuation_passes_through(stage: Stage) -> None:
    seen: list[Any] = []

    async def look(attempt: Any, call_next: Next) -> Any:
        seen.append(await call_next())
        return seen[-1]

    @stage.jobs.job
    async def first() -> Bound[int]:
        return second.bind()

    @stage.jobs.job
    async def second() -> int:
        return 2

    chain = await stage.start(first.bind())
    async with stage.worker(middlewares=[look]):
        await stage.recorder.receive("completed", chain_id=chain.id)

    assert isinstance(seen[0], Bound)
    assert seen[1] == 2


def _declare(stage: Stage, body: Callable[[Any], Any], *, plain: bool = False) -> Any:
    if plain:

        @stage.jobs.job(name="subject")
        def subject(attempt: SyncAttempt) -> Any:
            return body(attempt)

    else:

        @stage.jobs.job(name="subject")
        async def subject_async(attempt: Attempt) -> Any:
            return body(attempt)

    return stage.jobs["subject"]
