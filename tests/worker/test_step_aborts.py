"""Aborted attempts whose step waits for the store: the worker settles them, because their claims are still valid."""

from __future__ import annotations

from functools import partial

from holdfast import Attempt, Retry, Status, SyncAttempt
from tests.waiting import until
from tests.worker.faulty_store import Fault, FaultyStore
from tests.worker.harness import WorkerHarness

ONCE = Retry(initial=0, max_attempts=1)


def _double(number: int) -> int:
    return 2 * number


async def _is_met(fault: Fault) -> bool:
    return fault.met > 0


async def test_a_stopping_worker_releases_a_job_whose_step_is_not_stored(
    harness: WorkerHarness, faulty: FaultyStore
) -> None:
    @harness.jobs.job
    async def work(attempt: Attempt) -> int:
        return await attempt.step("double", _double, 4)

    @harness.jobs.job
    def blocking(attempt: SyncAttempt) -> int:
        return attempt.step("double", _double, 4)

    for bound in (work.bind(), blocking.bind()):
        fault = faulty.fail("save_steps", times=None)
        chain = await harness.start(bound)
        async with harness.worker(grace=0):
            await until(partial(_is_met, fault))
        fault.end()

        assert (await harness.ended(chain)).kind == "released"
        job = await harness.job(chain)
        assert (job.status, job.attempt, job.worker) == (Status.PENDING, 0, None)


async def test_an_attempt_whose_time_is_over_fails_although_its_step_is_not_stored(
    harness: WorkerHarness, faulty: FaultyStore
) -> None:
    @harness.jobs.job(timeout=0.5, retry=ONCE)
    async def work(attempt: Attempt) -> int:
        return await attempt.step("double", _double, 4)

    @harness.jobs.job(timeout=0.5, retry=ONCE)
    def blocking(attempt: SyncAttempt) -> int:
        return attempt.step("double", _double, 4)

    for bound in (work.bind(), blocking.bind()):
        fault = faulty.fail("save_steps", times=None)
        chain = await harness.start(bound)
        async with harness.worker():
            assert (await harness.ended(chain)).kind == "failed"
        fault.end()

        job = await harness.job(chain)
        assert job.error is not None
        assert job.error.type == "AttemptTimeout"
