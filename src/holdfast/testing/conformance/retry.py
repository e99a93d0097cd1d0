"""Retrying by hand: failed and cancelled jobs get their attempts anew."""

from __future__ import annotations

from holdfast.errors import JobNotFound, NotPending
from holdfast.ids import new_id
from holdfast.operations import Cancel, Delete, RetryJobs
from holdfast.record import Status
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.ground import Ground


async def a_failed_or_cancelled_job_is_pending_and_due_at_once(ground: Ground) -> None:
    lost = await ground.claimed()
    await ground.settled(failed(lost))
    dropped = await ground.started(new_job(delay=60))
    await ground.perform(Cancel((dropped.id,)))
    ground.clock.advance(5)

    records = await ground.perform(RetryJobs((dropped.id, lost.id)))

    assert [record.id for record in records] == [dropped.id, lost.id]
    for record in records:
        assert (record.status, record.attempt, record.finished_at) == (Status.PENDING, 0, None)
        assert record.scheduled_at == ground.clock()
    assert len(await ground.claim(limit=10)) == 2


async def attempts_are_granted_anew(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=2))
    await ground.settled(retrying(job))
    await ground.settled(failed(await ground.claim_one()))

    await ground.perform(RetryJobs((job.id,)))

    first = await ground.claim_one()
    assert (first.attempt, first.max_attempts) == (1, 2)
    await ground.expire()
    assert [reaped.record.status for reaped in await ground.reap()] == [Status.PENDING]
    assert (await ground.claim_one()).attempt == 2


async def a_retried_job_waits_for_its_open_blockers(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,)))
    await ground.perform(Cancel((job.id,)))

    (record,) = await ground.perform(RetryJobs((job.id,)))

    assert (record.status, record.open_blockers) == (Status.BLOCKED, 1)
    await ground.settled(completed(blocker))
    assert (await ground.claim_one()).id == job.id


async def a_retried_job_whose_blockers_completed_meanwhile_is_due(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,)))
    await ground.perform(Cancel((job.id,)))
    await ground.settled(completed(blocker))

    (record,) = await ground.perform(RetryJobs((job.id,)))

    assert (record.status, record.open_blockers) == (Status.PENDING, 0)


async def the_last_job_of_a_longer_chain_is_retried(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(continued(job, next_job(job)))
    second = await ground.claim_one("publish")
    await ground.settled(failed(second))

    await ground.perform(RetryJobs((second.id,)))

    assert (await ground.chain(job.id)).last.status is Status.PENDING
    await ground.settled(completed(await ground.claim_one("publish")))
    assert (await ground.chain(job.id)).last.status is Status.COMPLETED


async def jobs_in_another_status_are_refused(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    blocked = await ground.started(new_job(after=(blocker.id,)))
    done = await ground.completed()
    running = await ground.claimed()
    pending = await ground.started()

    for job in (blocked, pending, running, done):
        error = await ground.refused(NotPending, RetryJobs((job.id,)))
        assert (error.job_id, error.status) == (job.id, job.status)


async def a_job_that_would_wait_for_a_deleted_chain_is_refused(ground: Ground) -> None:
    gone, done = await ground.started(new_job("other")), await ground.completed()
    waits = await ground.started(new_job(after=(done.id, gone.id)))
    free = await ground.started(new_job(after=(done.id,)))
    await ground.perform(Cancel((waits.id, free.id)))
    await ground.perform(Delete((gone.id, done.id)))
    before = await ground.everything()

    error = await ground.refused(NotPending, RetryJobs((free.id, waits.id)))

    assert (error.job_id, error.status) == (waits.id, Status.CANCELLED)
    assert await ground.everything() == before
    assert [job.status for job in await ground.perform(RetryJobs((free.id,)))] == [Status.PENDING]


async def a_key_that_a_newer_chain_has_taken_keeps_the_old_one_from_being_retried(ground: Ground) -> None:
    old = await ground.claimed(new_job(key="report"))
    await ground.settled(continued(old, next_job(old)))
    step = await ground.claim_one("publish")
    await ground.settled(failed(step))
    newer = await ground.started(new_job(key="report"))
    before = await ground.everything()

    error = await ground.refused(NotPending, RetryJobs((step.id,)))

    assert (error.job_id, error.status) == (step.id, Status.FAILED)
    assert newer.id in str(error)
    assert await ground.everything() == before
    await ground.perform(Cancel((newer.id,)))
    assert [job.status for job in await ground.perform(RetryJobs((step.id,)))] == [Status.PENDING]


async def two_chains_of_one_key_are_not_retried_together(ground: Ground) -> None:
    older, newer = [await ground.started(new_job(key="report", dedup="any", window=0)) for _ in range(2)]
    await ground.perform(Cancel((older.id, newer.id)))
    before = await ground.everything()

    error = await ground.refused(NotPending, RetryJobs((older.id, newer.id)))

    assert error.job_id == newer.id
    assert await ground.everything() == before


async def a_step_that_the_chain_left_behind_is_refused(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(continued(job, next_job(job)))
    await ground.settled(failed(await ground.claim_one("publish")))

    error = await ground.refused(NotPending, RetryJobs((job.id,)))

    assert (error.job_id, error.status) == (job.id, Status.COMPLETED)


async def one_that_cannot_be_retried_leaves_all_as_they_are(ground: Ground) -> None:
    lost = await ground.claimed()
    await ground.settled(failed(lost))
    running, unknown = await ground.claimed(), new_id()
    before = await ground.everything()

    assert (await ground.refused(NotPending, RetryJobs((lost.id, running.id)))).job_id == running.id
    assert (await ground.refused(JobNotFound, RetryJobs((lost.id, unknown)))).job_id == unknown

    assert await ground.everything() == before


async def an_unknown_job_is_told_before_one_in_another_status(ground: Ground) -> None:
    running, unknown = await ground.claimed(), new_id()

    assert (await ground.refused(JobNotFound, RetryJobs((running.id, unknown)))).job_id == unknown


async def a_job_named_twice_is_retried_once_and_answered_twice(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(failed(job))

    records = await ground.perform(RetryJobs((job.id, job.id)))

    assert [record.status for record in records] == [Status.PENDING] * 2


async def of_two_that_retry_one_job_at_once_one_is_refused(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(10):
        job = await ground.claimed()
        await ground.settled(failed(job))

        answers = await ground.race([g.perform(RetryJobs((job.id,))) for g in (ground, other)])

        losers += sum(isinstance(answer, NotPending) for answer in answers)
        await ground.settled(completed(await ground.claim_one()))
    assert losers == 10
