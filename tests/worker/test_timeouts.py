"""The timeout of an attempt."""

from __future__ import annotations

import asyncio
import threading

import pytest

from holdfast import Retry, SyncAttempt
from tests.worker.harness import TIMEOUT, WorkerHarness


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("of", ["start", "type", "worker"])
async def test_a_timeout_frees_the_slot_and_counts_as_a_failed_attempt(
    harness: WorkerHarness, of: str, plain: bool
) -> None:
    never = threading.Event()

    if plain:

        @harness.jobs.job(name="long", timeout=0.02 if of == "type" else None)
        def long() -> None:
            never.wait(TIMEOUT)

    else:

        @harness.jobs.job(name="long", timeout=0.02 if of == "type" else None)
        async def long_async() -> None:
            await asyncio.get_running_loop().create_future()

    @harness.jobs.job
    async def next_one() -> None: ...

    long_type = harness.jobs["long"]
    chain = await harness.start(long_type.bind(), priority=1, timeout=0.02 if of == "start" else None, max_attempts=2)
    other = await harness.start(next_one.bind())
    async with harness.worker(concurrency=1, timeout=0.02 if of == "worker" else None):
        await harness.ended(other)
        assert (await harness.ended(chain)).kind == "retrying"
        harness.clock.advance(100)
        assert (await harness.ended(chain, times=2)).kind == "failed"
    never.set()

    assert "took longer than 0.02 s" in str((await harness.job(chain)).error)


async def test_a_timeout_that_the_handler_catches_still_fails_the_attempt(harness: WorkerHarness) -> None:
    @harness.jobs.job(timeout=0.02)
    async def stubborn() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "so what"
        return "?"

    chain = await harness.start(stubborn.bind())
    async with harness.worker():
        assert (await harness.ended(chain)).kind == "retrying"

    assert (await harness.job(chain)).output is None


async def test_an_attempt_that_ends_in_time_is_not_timed_out(harness: WorkerHarness) -> None:
    @harness.jobs.job(timeout=TIMEOUT)
    async def quick() -> str:
        return "done"

    chain = await harness.start(quick.bind())
    async with harness.worker():
        assert (await harness.ended(chain)).kind == "completed"


async def test_the_value_of_a_plain_handler_after_its_timeout_is_dropped(harness: WorkerHarness) -> None:
    go_on = threading.Event()
    over = threading.Event()

    @harness.jobs.job(timeout=0.02, retry=Retry(initial=0, jitter=0))
    def late(attempt: SyncAttempt) -> int:
        if attempt.job.attempt == 1:
            go_on.wait(TIMEOUT)
            over.set()
        return attempt.job.attempt

    chain = await harness.start(late.bind())
    async with harness.worker():
        await harness.recorder.receive("completed", job_id=chain.id)
        go_on.set()
        assert await asyncio.to_thread(over.wait, TIMEOUT)

    # On a busy machine a later attempt may exceed the timeout too.
    job = await harness.job(chain)
    assert job.output == job.attempt > 1
