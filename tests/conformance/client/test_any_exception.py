"""Whatever exception leaves a handler, its transaction ends, the attempt is settled, and the worker goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast import Attempt, ChainFailed, Retry
from tests.conformance.client.faces import AttemptFace, Mode
from tests.conformance.client.scene import Scene, soon, value


class Unprintable(Exception):
    """Raises another error whenever its text is wanted."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class Interrupting(Exception):
    """Raises KeyboardInterrupt whenever its text is wanted."""

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


ERRORS: list[Callable[[], BaseException]] = [
    GeneratorExit, KeyboardInterrupt, SystemExit, StopIteration, StopAsyncIteration, asyncio.CancelledError,
    Unprintable, Interrupting,
]  # fmt: skip


async def _in_handler(attempt: AttemptFace, error: BaseException) -> Any:
    raise error


async def _in_complete(attempt: AttemptFace, error: BaseException) -> Any:
    async with attempt.complete() as done:
        done.output(1)
        raise error


async def _after_complete(attempt: AttemptFace, error: BaseException) -> Any:
    async with attempt.complete() as done:
        done.output(1)
    raise error


async def _in_prepare(attempt: AttemptFace, error: BaseException) -> Any:
    async with attempt.prepare():
        raise error


async def _in_atomic_prepare(attempt: AttemptFace, error: BaseException) -> Any:
    async with attempt.prepare("atomic"):
        raise error


async def _after_atomic_prepare(attempt: AttemptFace, error: BaseException) -> Any:
    async with attempt.prepare("atomic"):
        pass
    raise error


PLACES = [_in_handler, _in_complete, _after_complete, _in_prepare, _in_atomic_prepare, _after_atomic_prepare]


async def _works_on(scene: Scene) -> bool:
    """Whether another job can be started and completed by the same worker."""
    job_type = scene.jobs.get("value") or scene.jobs.job(value)
    return bool(await soon(scene.client.wait(await scene.client.start(job_type.bind(7)), timeout=10)) == 7)


@pytest.mark.parametrize("place_in_handler", PLACES, ids=lambda place: place.__name__.strip("_"))
async def test_every_exception_is_a_failed_attempt(
    scene: Scene, place_in_handler: Callable[[AttemptFace, BaseException], Awaitable[Any]]
) -> None:
    async def break_off(attempt: AttemptFace, number: int) -> Any:
        return await place_in_handler(attempt, ERRORS[number]())

    job_type = scene.job(break_off)
    scene.jobs.job(value)
    chains = [await scene.client.start(job_type.bind(n), max_attempts=1) for n in range(len(ERRORS))]
    async with scene.worker(concurrency=1):
        assert await _works_on(scene)

    jobs = [await scene.now(chain) for chain in chains]
    assert [(job.status, job.attempt) for job in jobs] == [("failed", 1)] * len(ERRORS)


async def test_an_interrupting_exception_leaves_the_other_jobs_alone(scene: Scene) -> None:
    interrupted, interrupted_thread = asyncio.Event(), threading.Event()

    async def interrupt(attempt: AttemptFace, number: int) -> Any:
        raise KeyboardInterrupt

    async def beside(attempt: AttemptFace, number: int) -> Any:
        if scene.mode is Mode.ASYNC:
            await interrupted.wait()
        else:
            interrupted_thread.wait(20)
        return number

    kept = await scene.client.start(scene.job(beside).bind(3))
    retry = Retry(initial=0, jitter=0, max_attempts=2)
    chain = await scene.client.start(scene.job(interrupt, retry=retry).bind())
    async with scene.worker(concurrency=2):
        with pytest.raises(ChainFailed, match="KeyboardInterrupt"):
            await scene.client.wait(chain, timeout=20)
        interrupted.set()
        interrupted_thread.set()
        assert await scene.client.wait(kept, timeout=10) == 3

    assert ((await scene.now(chain)).status, (await scene.now(chain)).attempt) == ("failed", 2)
    assert (await scene.now(kept)).attempt == 1


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit, StopAsyncIteration])
@pytest.mark.parametrize("block", ["prepare", "complete"])
@pytest.mark.parametrize("side", ["in", "out"])
async def test_an_exception_of_a_middlewares_block_is_a_failed_attempt(
    scene: Scene, error: Callable[[], BaseException], block: str, side: str
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

    async def charge(attempt: AttemptFace, number: int) -> Any:
        async with attempt.prepare():
            pass
        async with attempt.complete() as done:
            return done.output(number)

    scene.jobs.job(value)
    chain = await scene.client.start(scene.job(charge).bind(1), max_attempts=1)
    async with scene.worker(concurrency=1, middlewares=[Raising()]):
        assert await _works_on(scene)

    job = await scene.now(chain)
    assert (job.status, job.attempt) == ("failed", 1)


@pytest.mark.parametrize("place_in_handler", PLACES, ids=lambda place: place.__name__.strip("_"))
async def test_an_exception_around_a_middlewares_block_passes_through_it(
    scene: Scene, place_in_handler: Callable[[AttemptFace, BaseException], Awaitable[Any]]
) -> None:
    class Waiting:
        """Waits on the event loop on the way in and on the way out."""

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

    async def break_off(attempt: AttemptFace, number: int) -> Any:
        return await place_in_handler(attempt, ERRORS[number]())

    job_type = scene.job(break_off)
    scene.jobs.job(value)
    chains = [await scene.client.start(job_type.bind(n), max_attempts=1) for n in range(len(ERRORS))]
    async with scene.worker(concurrency=1, middlewares=[Waiting()]):
        assert await _works_on(scene)

    assert [(await scene.now(chain)).status for chain in chains] == ["failed"] * len(ERRORS)


@pytest.mark.parametrize("block", ["handler", "prepare", "atomic", "complete", "middleware"])
@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit])
async def test_an_exception_that_the_event_loop_throws_into_the_task_is_a_failed_attempt(
    scene: Scene, block: str, error: Callable[[], BaseException]
) -> None:
    """The handler awaits a future that has this exception. A GeneratorExit then closes the coroutines of the task."""

    def broken() -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, error())
        return future

    @scene.jobs.job
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

    break_off_type = scene.jobs["break_off"]
    scene.jobs.job(value)
    chain = await scene.client.start(break_off_type.bind(), max_attempts=1)
    async with scene.worker(concurrency=1, middlewares=[breaking]):
        assert await _works_on(scene)

    job = await scene.now(chain)
    assert (job.status, job.attempt) == ("failed", 1)


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, SystemExit])
async def test_an_exception_inside_completing_ends_its_transaction(
    scene: Scene, error: Callable[[], BaseException]
) -> None:
    job_type = scene.jobs.job(value)
    chain = await scene.client.start(job_type.bind(1), delay=3600)

    caught: BaseException | None = None
    try:
        async with scene.client.completing(chain) as current:
            await current.output(5)
            raise error()
    except BaseException as raised:
        caught = raised

    assert type(caught) is error
    assert (await scene.now(chain)).status == "pending"
    async with scene.worker(concurrency=1):
        assert await _works_on(scene)


async def test_a_generator_exit_thrown_by_the_event_loop_ends_the_transaction_of_completing(scene: Scene) -> None:
    if scene.mode is Mode.SYNC:
        scene.hands.close()
    job_type = scene.jobs.job(value)
    chain = await scene.workers_client.start(job_type.bind(1), delay=3600)
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def approve() -> None:
        async with scene.workers_client.completing(chain) as current:
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
    async with scene.worker(concurrency=1):
        started = await scene.workers_client.start(job_type.bind(7))
        assert await soon(scene.workers_client.wait(started, timeout=10)) == 7
    found = await scene.workers_client.get(chain)
    assert found is not None
    assert found.status == "pending"
