"""Many jobs that wait with `when=`, and the ends of their blockers at the same time."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    RetryJobs,
)
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.builders import new_waiting_job, two_blockers
from holdfast.testing.conformance.harness import Harness


async def hundreds_of_jobs_may_wait_for_one_chain(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    after_failure = [new_waiting_job(WHEN_FAILED, blocker.id) for _ in range(150)]
    after_end = [new_waiting_job(WHEN_ENDED, blocker.id) for _ in range(150)]
    await harness.start(*after_failure, *after_end)

    answer = await harness.settled(completed(blocker))

    assert sorted(answer.unblocked) == sorted((job.id, "resize") for job in after_end)
    jobs = {job.id: job.status for job in await harness.everything()}
    assert {jobs[job.id] for job in after_failure} == {Status.CANCELLED}
    assert {jobs[job.id] for job in after_end} == {Status.PENDING}


async def one_job_may_wait_for_the_end_of_hundreds(harness: Harness) -> None:
    await harness.start(*(new_job("other") for _ in range(150)))
    claimed = await harness.claim("other", limit=150)
    ids = tuple(job.id for job in claimed)
    ended, never = (
        await harness.started(new_waiting_job(WHEN_ENDED, *ids)),
        await harness.started(new_waiting_job(WHEN_FAILED, *ids)),
    )

    for job in claimed[1:]:
        await harness.settled(completed(job))
    assert [(await harness.job(job.id)).open_blockers for job in (ended, never)] == [1, 1]
    await harness.settled(completed(claimed[0]))

    assert [(await harness.job(job.id)).status for job in (ended, never)] == [Status.PENDING, Status.CANCELLED]


async def two_blockers_that_end_at_once_start_the_job_once(harness: Harness) -> None:
    other = await harness.second_store()
    for rule, ends in ((WHEN_FAILED, (failed, failed)), (WHEN_ENDED, (failed, completed))):
        one, two = await two_blockers(harness)
        job = await harness.started(new_waiting_job(rule, one.id, two.id))

        answers = await harness.race([harness.settle(ends[0](one)), other.settle(ends[1](two))])

        unblocked = [
            pair for answer in answers if isinstance(answer, list) for each in answer for pair in each.unblocked
        ]
        assert unblocked == [(job.id, "resize")]
        await harness.settled(completed(await harness.claim_one()))


async def two_blockers_that_complete_at_once_cancel_the_job(harness: Harness) -> None:
    other = await harness.second_store()
    one, two = await two_blockers(harness)
    job = await harness.started(new_waiting_job(WHEN_FAILED, one.id, two.id))

    await harness.race([harness.settle(completed(one)), other.settle(completed(two))])

    assert (await harness.job(job.id)).status is Status.CANCELLED


async def a_start_and_the_end_of_its_blocker_at_once_leave_no_job_waiting(harness: Harness) -> None:
    other = await harness.second_store()
    for rule, end, expected in (
        (WHEN_FAILED, failed, Status.PENDING),
        (WHEN_FAILED, completed, Status.CANCELLED),
        (WHEN_ENDED, failed, Status.PENDING),
    ):
        blocker = await harness.claimed(new_job("other"))
        job = new_waiting_job(rule, blocker.id)

        racers: list[Coroutine[Any, Any, object]] = [harness.settle(end(blocker)), other.start(job)]
        await harness.race(racers)

        assert (await harness.job(job.id)).status is expected


async def a_retry_and_the_end_of_its_blocker_at_once_leave_no_job_waiting(harness: Harness) -> None:
    other = await harness.second_store()
    for rule in (WHEN_FAILED, WHEN_ENDED):
        blocker = await harness.claimed(new_job("other"))
        await harness.settled(continued(blocker, next_job(blocker)))
        last = await harness.claim_one("publish")
        job = await harness.started(new_waiting_job(rule, blocker.id))
        await harness.perform(CancelChains((job.id,)))

        retrying = other.perform(RetryJobs((job.id,)))
        racers: list[Coroutine[Any, Any, object]] = [harness.settle(failed(last)), retrying]
        await harness.race(racers)

        assert (await harness.job(job.id)).status is Status.PENDING
