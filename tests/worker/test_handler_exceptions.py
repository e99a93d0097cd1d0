"""Every exception of a handler fails its attempt, and leaves its slot usable."""

from __future__ import annotations

import asyncio
import logging
import sys

import pytest

from holdfast import Attempt
from tests.worker.declared_outcomes import declare
from tests.worker.harness import WorkerHarness


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize(
    "error", [SystemExit(3), StopIteration(5), asyncio.CancelledError(), KeyboardInterrupt(), GeneratorExit()]
)
async def test_every_exception_of_a_handler_fails_the_attempt(
    harness: WorkerHarness, error: BaseException, plain: bool
) -> None:
    """A released attempt would not count and would run again at once, forever."""

    def decide(attempt: int) -> str:
        raise error

    job_type = declare(harness, decide, plain=plain)
    chain = await harness.start(job_type.bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)
        await harness.ended(await harness.start(job_type.bind(), max_attempts=1))

    job = await harness.job(chain)
    assert (job.status, job.attempt) == ("failed", 1)
    assert type(error).__name__ in str(job.error)


async def test_a_handler_that_awaits_something_cancelled_fails_and_backs_off(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def unlucky() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    chain = await harness.start(unlucky.bind())
    async with harness.worker():
        event = await harness.ended(chain)

    assert event.kind == "retrying"
    assert (await harness.job(chain)).attempt == 1


async def test_a_handler_that_cancels_itself_fails_and_leaves_its_slot_usable(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def suicidal() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.get_running_loop().create_future()

    chain = await harness.start(suicidal.bind(), max_attempts=2)
    async with harness.worker(concurrency=1):
        assert (await harness.ended(chain)).kind == "retrying"
        harness.clock.advance(100)
        assert (await harness.ended(chain, times=2)).kind == "failed"


async def test_a_handler_that_never_completes_leaves_no_running_job(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def forgetful(attempt: Attempt) -> str:
        async with attempt.complete():
            pass
        return "something"

    chain = await harness.start(forgetful.bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)

    job = await harness.job(chain)
    assert job.status == "failed"
    assert "without done.output" in str(job.error)


async def test_an_error_with_a_message_that_cannot_be_formatted_still_fails_its_job(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    # The log record has the traceback with its lone surrogate. pytest-xdist cannot send such text in a report.
    caplog.set_level(logging.CRITICAL, "holdfast")

    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    @harness.jobs.job
    async def odd() -> None:
        raise Unprintable

    @harness.jobs.job
    async def long() -> None:
        raise ValueError("\0\ud800" + "x" * 1_000_000)

    chains = [await harness.start(job_type.bind(), max_attempts=1) for job_type in (odd, long)]
    async with harness.worker():
        for chain in chains:
            assert (await harness.ended(chain)).kind == "failed"

    record = (await harness.job(chains[1])).record
    assert record.error is not None
    assert len(record.error) < 40_000


async def test_deep_recursion_in_a_handler_is_a_failed_attempt(harness: WorkerHarness) -> None:
    def recurse(depth: int) -> int:
        return recurse(depth + 1)

    @harness.jobs.job
    async def deep() -> int:
        return recurse(0)

    chain = await harness.start(deep.bind(), max_attempts=1)
    async with harness.worker():
        await harness.ended(chain)

    assert "RecursionError" in str((await harness.job(chain)).error)
    assert sys.getrecursionlimit() > 0
