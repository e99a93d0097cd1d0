"""After any exception of a handler its transaction ends, the attempt is settled, and the worker continues."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast import Attempt, ChainFailed, Retry
from tests.conformance.client.async_adapters import AttemptAdapter, Mode
from tests.conformance.client.harness import ClientHarness, in_time, value
from tests.conformance.client.raised_exceptions import ERRORS, PLACES


async def _works_on(harness: ClientHarness) -> bool:
    """Whether another job can be started and completed by the same worker."""
    job_type = harness.jobs.get("value") or harness.jobs.job(value)
    return bool(await in_time(harness.client.wait(await harness.client.start(job_type.bind(7)), timeout=60)) == 7)


@pytest.mark.parametrize("place_in_handler", PLACES, ids=lambda place: place.__name__.strip("_"))
async def test_every_exception_is_a_failed_attempt(
    harness: ClientHarness, place_in_handler: Callable[[AttemptAdapter, BaseException], Awaitable[Any]]
) -> None:
    async def break_off(attempt: AttemptAdapter, number: int) -> Any:
        return await place_in_handler(attempt, ERRORS[number]())

    job_type = harness.job(break_off)
    harness.jobs.job(value)
    chains = [await harness.client.start(job_type.bind(n), max_attempts=1) for n in range(len(ERRORS))]
    async with harness.worker(concurrency=1):
        assert await _works_on(harness)

    jobs = [await harness.now(chain) for chain in chains]
    assert [(job.status, job.attempt) for job in jobs] == [("failed", 1)] * len(ERRORS)


async def test_an_interrupting_exception_does_not_affect_other_jobs(harness: ClientHarness) -> None:
    interrupted, interrupted_thread = asyncio.Event(), threading.Event()

    async def interrupt(attempt: AttemptAdapter, number: int) -> Any:
        raise KeyboardInterrupt

    async def beside(attempt: AttemptAdapter, number: int) -> Any:
        if harness.mode is Mode.ASYNC:
            await interrupted.wait()
        else:
            interrupted_thread.wait(60)
        return number

    kept = await harness.client.start(harness.job(beside).bind(3))
    retry = Retry(initial=0, jitter=0, max_attempts=2)
    chain = await harness.client.start(harness.job(interrupt, retry=retry).bind())
    async with harness.worker(concurrency=2):
        with pytest.raises(ChainFailed, match="KeyboardInterrupt"):
            await harness.client.wait(chain, timeout=60)
        interrupted.set()
        interrupted_thread.set()
        assert await harness.client.wait(kept, timeout=60) == 3

    assert ((await harness.now(chain)).status, (await harness.now(chain)).attempt) == ("failed", 2)
    assert (await harness.now(kept)).attempt == 1


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit, StopAsyncIteration])
@pytest.mark.parametrize("block", ["prepare", "complete"])
@pytest.mark.parametrize("side", ["in", "out"])
async def test_an_exception_of_a_middlewares_block_is_a_failed_attempt(
    harness: ClientHarness, error: Callable[[], BaseException], block: str, side: str
) -> None:
    class Raising:
        async def __call__(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
            return await call_next()

        def __getattr__(self, name: str) -> Any:
            if name != block:
                raise AttributeError(name)
            return self._wrap

        @asynccontextmanager
        async def _wrap(self, attempt: Any, subject: Any) -> AsyncGenerator[None]:
            if side == "in":
                raise error()
            yield
            raise error()

    async def charge(attempt: AttemptAdapter, number: int) -> Any:
        async with attempt.prepare():
            pass
        async with attempt.complete() as done:
            return done.output(number)

    harness.jobs.job(value)
    chain = await harness.client.start(harness.job(charge).bind(1), max_attempts=1)
    async with harness.worker(concurrency=1, middlewares=[Raising()]):
        assert await _works_on(harness)

    job = await harness.now(chain)
    assert (job.status, job.attempt) == ("failed", 1)


@pytest.mark.parametrize("place_in_handler", PLACES, ids=lambda place: place.__name__.strip("_"))
async def test_an_exception_around_a_middlewares_block_passes_through_it(
    harness: ClientHarness, place_in_handler: Callable[[AttemptAdapter, BaseException], Awaitable[Any]]
) -> None:
    class Suspending:
        """Suspends on entry and on exit."""

        async def __call__(self, attempt: Any, call_next: Callable[[], Awaitable[Any]], /) -> Any:
            async with self.complete(attempt, None):
                return await call_next()

        @asynccontextmanager
        async def complete(self, attempt: Any, subject: Any) -> AsyncGenerator[None]:
            await asyncio.sleep(0)
            try:
                yield
            finally:
                await asyncio.sleep(0)

        prepare = complete

    async def break_off(attempt: AttemptAdapter, number: int) -> Any:
        return await place_in_handler(attempt, ERRORS[number]())

    job_type = harness.job(break_off)
    harness.jobs.job(value)
    chains = [await harness.client.start(job_type.bind(n), max_attempts=1) for n in range(len(ERRORS))]
    async with harness.worker(concurrency=1, middlewares=[Suspending()]):
        assert await _works_on(harness)

    assert [(await harness.now(chain)).status for chain in chains] == ["failed"] * len(ERRORS)


@pytest.mark.parametrize("block", ["handler", "prepare", "atomic", "complete", "middleware"])
@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit])
async def test_an_exception_that_the_event_loop_throws_into_the_task_is_a_failed_attempt(
    harness: ClientHarness, block: str, error: Callable[[], BaseException]
) -> None:
    """The handler awaits a future that has this exception. A GeneratorExit then closes the coroutines of the task."""

    def broken() -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, error())
        return future

    @harness.jobs.job
    async def break_off(attempt: Attempt) -> None:
        match block:
            case "prepare" | "atomic":
                async with attempt.prepare("atomic" if block == "atomic" else "staged"):
                    await broken()
            case "complete":
                async with attempt.complete():
                    await broken()
            case "handler":
                await broken()
            case _:
                async with attempt.prepare("atomic"):
                    pass

    async def breaking(attempt: Any, call_next: Callable[[], Awaitable[Any]]) -> Any:
        answer = await call_next()
        if block == "middleware" and attempt.job.type == "break_off":
            await broken()
        return answer

    break_off_type = harness.jobs["break_off"]
    harness.jobs.job(value)
    chain = await harness.client.start(break_off_type.bind(), max_attempts=1)
    async with harness.worker(concurrency=1, middlewares=[breaking]):
        assert await _works_on(harness)

    job = await harness.now(chain)
    assert (job.status, job.attempt) == ("failed", 1)


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit])
async def test_an_exception_inside_completing_ends_its_transaction(
    harness: ClientHarness, error: Callable[[], BaseException]
) -> None:
    job_type = harness.jobs.job(value)
    chain = await harness.client.start(job_type.bind(1), delay=3600)

    caught: BaseException | None = None
    try:
        async with harness.client.completing(chain) as current:
            await current.output(5)
            raise error()
    except BaseException as raised:
        caught = raised

    assert type(caught) is error
    assert (await harness.now(chain)).status == "pending"
    async with harness.worker(concurrency=1):
        assert await _works_on(harness)


async def test_a_generator_exit_thrown_by_the_event_loop_ends_the_transaction_of_completing(
    harness: ClientHarness,
) -> None:
    if harness.mode is Mode.SYNC:
        harness.threads.close()
    job_type = harness.jobs.job(value)
    chain = await harness.workers_client.start(job_type.bind(1), delay=3600)
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def approve() -> None:
        async with harness.workers_client.completing(chain) as current:
            await current.output(5)
            asyncio.get_running_loop().call_soon(broken.set_exception, GeneratorExit())
            await broken

    async def outermost() -> str:
        try:
            await approve()
        except BaseException as error:
            return type(error).__name__
        return "nothing"

    # Python reports that the closed coroutine still awaited something.
    assert await asyncio.create_task(outermost()) in ("GeneratorExit", "RuntimeError")
    async with harness.worker(concurrency=1):
        started = await harness.workers_client.start(job_type.bind(7))
        assert await in_time(harness.workers_client.wait(started, timeout=60)) == 7
    found = await harness.workers_client.get(chain)
    assert found is not None
    assert found.status == "pending"
