"""A retry of a job that waits with `when=`, and of its blockers."""

from __future__ import annotations

from holdfast.core.blocker_rules import WHEN_ENDED, WHEN_FAILED
from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    Delete,
    RetryJobs,
)
from holdfast.errors import NotPending
from holdfast.testing.builders import completed, failed, new_job
from holdfast.testing.conformance.builders import new_waiting_job, two_blockers
from holdfast.testing.conformance.harness import Harness


async def a_blocker_that_runs_again_after_a_retry_is_waited_for_again(harness: Harness) -> None:
    one, two = await two_blockers(harness)
    job = await harness.started(new_waiting_job(WHEN_ENDED, one.id, two.id))
    await harness.settled(failed(one))
    await harness.perform(RetryJobs((one.id,)))
    one = await harness.claim_one("other")

    assert (await harness.settled(failed(one))).unblocked == ()
    await harness.perform(RetryJobs((one.id,)))
    one = await harness.claim_one("other")
    assert (await harness.settled(completed(two))).unblocked == ()
    assert (await harness.job(job.id)).open_blockers == 1

    assert (await harness.settled(completed(one))).unblocked == ((job.id, "resize"),)


async def a_retried_blocker_that_ends_with_another_one_starts_the_job_once(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    waits = await harness.started(new_waiting_job(WHEN_FAILED, blocker.id))
    job = await harness.started(new_waiting_job(WHEN_ENDED, blocker.id, waits.id))
    await harness.perform(CancelChains((waits.id,)))
    await harness.perform(RetryJobs((waits.id,)))

    answer = await harness.settled(completed(blocker))

    assert answer.unblocked == ((job.id, "resize"),)
    started = await harness.job(job.id)
    assert (started.status, started.open_blockers) == (Status.PENDING, 0)


async def a_started_job_is_not_changed_by_later_ends(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    jobs = [await harness.started(new_waiting_job(rule, blocker.id, priority=1)) for rule in (WHEN_FAILED, WHEN_ENDED)]
    await harness.settled(failed(blocker))
    running = await harness.claim_one()
    before = [await harness.job(job.id) for job in jobs]

    await harness.perform(RetryJobs((blocker.id,)))
    answer = await harness.settled(completed(await harness.claim_one("other")))

    assert answer.unblocked == ()
    assert [await harness.job(job.id) for job in jobs] == before
    await harness.settled(completed(running))


async def a_retried_job_waits_by_the_current_state_of_its_blockers(harness: Harness) -> None:
    for rule, after_retry in ((WHEN_FAILED, Status.PENDING), (WHEN_ENDED, Status.PENDING)):
        blocker = await harness.claimed(new_job("other"))
        job = await harness.started(new_waiting_job(rule, blocker.id))
        await harness.perform(CancelChains((job.id,)))

        (again,) = await harness.perform(RetryJobs((job.id,)))
        assert (again.status, again.open_blockers) == (Status.BLOCKED, 1)
        await harness.perform(CancelChains((job.id,)))
        await harness.settled(failed(blocker))
        assert (await harness.job(job.id)).status is Status.CANCELLED

        (again,) = await harness.perform(RetryJobs((job.id,)))
        assert (again.status, again.open_blockers) == (after_retry, 0)
        await harness.perform(CancelChains((job.id,)))
        await harness.perform(RetryJobs((blocker.id, job.id)))
        assert (await harness.job(job.id)).status is Status.BLOCKED
        await harness.settled(failed(await harness.claim_one("other")))
        assert (await harness.job(job.id)).status is Status.PENDING
        await harness.perform(CancelChains((job.id,)))


async def a_job_that_waited_for_a_failure_is_not_retried_after_all_completed(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_waiting_job(WHEN_FAILED, blocker.id))
    await harness.settled(completed(blocker))
    before = await harness.everything()

    refused = await harness.refused(NotPending, RetryJobs((job.id,)))

    assert "its blockers have completed" in str(refused)
    assert await harness.everything() == before
    await harness.perform(Delete((blocker.id,)))
    refused = await harness.refused(NotPending, RetryJobs((job.id,)))
    assert "were not deleted" in str(refused)
