"""A store that fails before or after an operation: nothing is lost, and nothing takes effect twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

import pytest

from holdfast import Attempt, Retry, StoreUnavailable
from holdfast.core.lifecycle import Outcome, Settlement
from holdfast.core.record import Record
from holdfast.core.settle import settle
from tests.waiting import until
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import LEASE, WorkerHarness, in_time


@pytest.mark.parametrize("verb", ["claim", "reap", "next_due"])
async def test_the_claim_loop_continues_after_an_outage(harness: WorkerHarness, faulty: FaultyStore, verb: str) -> None:
    @harness.jobs.job
    async def hello() -> str:
        return "hello"

    fault = faulty.fail(verb, times=5)
    chain = await harness.start(hello.bind())
    async with harness.worker():
        await harness.ended(chain)
        await harness.recorder.receive("store_error", times=5)

    assert fault.met == 5
    assert (await harness.job(chain)).output == "hello"


async def test_jobs_of_a_claim_without_an_answer_run_before_their_leases_expire(
    harness: WorkerHarness, faulty: FaultyStore
) -> None:
    @harness.jobs.job
    async def count(attempt: Attempt) -> int:
        return attempt.job.attempt

    fault = faulty.fail("claim", when="after", times=2)
    chains = await harness.client.start_many([count.bind() for _ in range(20)])
    async with harness.worker():
        outputs = [await harness.client.wait(chain, timeout=60) for chain in chains]

    assert fault.met == 2
    assert outputs == [1] * 20


async def test_a_long_outage_ends_and_everything_is_done_once(harness: WorkerHarness, faulty: FaultyStore) -> None:
    runs: Counter[str] = Counter()
    halfway = asyncio.Event()

    @harness.jobs.job
    async def count(attempt: Attempt) -> None:
        runs[attempt.job.id] += 1
        if len(runs) == 25:
            halfway.set()

    chains = await harness.client.start_many([count.bind() for _ in range(50)])
    async with harness.worker(concurrency=5, lease=60):
        await in_time(halfway.wait())
        fault = faulty.fail(times=None)
        await harness.recorder.receive("store_error", times=10)
        fault.end()
        await harness.recorder.receive("completed", times=50)

    assert runs == Counter({chain.id: 1 for chain in chains})


async def test_a_wait_raises_during_an_outage_and_leaves_no_subscription(
    harness: WorkerHarness, faulty: FaultyStore
) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    chain = await harness.start(hello.bind())
    faulty.fail("get_chains")

    with pytest.raises(StoreUnavailable, match="the connection is interrupted"):
        await harness.client.wait(chain, timeout=60)


async def test_an_outage_before_the_handler_runs_is_a_failed_attempt(
    harness: WorkerHarness, faulty: FaultyStore
) -> None:
    @harness.jobs.job
    async def first() -> int:
        return 1

    @harness.jobs.job
    async def second(attempt: Attempt) -> int:
        return sum(attempt.blockers)

    blocker = await harness.start(first.bind())
    chain = await harness.start(second.bind(), after=[blocker])
    faulty.fail("get_blockers")
    async with harness.worker():
        assert (await harness.ended(chain)).kind == "retrying"
        harness.clock.advance(100)
        await harness.recorder.receive("completed", job_id=chain.id)

    assert (await harness.job(chain)).output == 1


async def test_an_attempt_that_breaks_in_the_engine_itself_is_reaped(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = 0

    def break_at_first(job: Record, outcome: Outcome, retry: Retry, **options: Any) -> Settlement:
        nonlocal broken
        broken += 1
        if broken <= 3:
            raise ZeroDivisionError
        return settle(job, outcome, retry, **options)

    async def logged(times: int) -> bool:
        return caplog.text.count("error in Holdfast itself") == times

    @harness.jobs.job
    async def hello(attempt: Attempt) -> int:
        return attempt.job.attempt

    monkeypatch.setattr("holdfast.worker.runner.settle", break_at_first)
    chain = await harness.start(hello.bind())
    async with harness.worker(concurrency=1):
        for times in range(1, 4):
            await until(partial(logged, times))
            harness.clock.advance(LEASE + 1)
            await harness.recorder.receive("reaped", times=times)
        await harness.ended(chain)

    assert (await harness.job(chain)).output == 4
