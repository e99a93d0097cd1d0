"""Retry: return failed and cancelled jobs to pending."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, Delete, GetSteps, RetryJobs, SaveSteps
from holdfast.errors import JobNotFound, NotPending
from holdfast.testing.builders import checkpoint, completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness


async def a_failed_or_cancelled_job_becomes_pending_and_due_now(harness: Harness) -> None:
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    dropped = await harness.started(new_job(delay=60))
    await harness.perform(CancelChains((dropped.id,)))
    harness.clock.advance(5)

    records = await harness.perform(RetryJobs((dropped.id, lost.id)))

    assert [record.id for record in records] == [dropped.id, lost.id]
    for record in records:
        assert (record.status, record.attempt, record.finished_at) == (Status.PENDING, 0, None)
        assert record.scheduled_at == harness.clock()
    assert len(await harness.claim(limit=10)) == 2


async def a_running_attempt_keeps_its_steps_when_a_retry_from_a_step_is_refused(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(SaveSteps((checkpoint(job, "charge", result=b"1"),)))

    await harness.refused(NotPending, RetryJobs((job.id,), from_step="charge"))

    assert await harness.perform(SaveSteps((checkpoint(job, "ship", number=2, result=b"2"),))) == [None]
    (rows,) = await harness.perform(GetSteps((job.id,)))
    assert [(row.name, row.result) for row in rows] == [("charge", b"1"), ("ship", b"2")]
    await harness.settled(completed(job))


async def a_retried_job_has_all_its_attempts_again(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=2))
    await harness.settled(retrying(job))
    await harness.settled(failed(await harness.claim_one()))

    await harness.perform(RetryJobs((job.id,)))

    first = await harness.claim_one()
    assert (first.attempt, first.max_attempts) == (1, 2)
    await harness.expire()
    assert [reaped.record.status for reaped in await harness.reap()] == [Status.PENDING]
    assert (await harness.claim_one()).attempt == 2


async def a_retried_job_is_blocked_while_blockers_are_not_completed(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))
    await harness.perform(CancelChains((job.id,)))

    (record,) = await harness.perform(RetryJobs((job.id,)))

    assert (record.status, record.open_blockers) == (Status.BLOCKED, 1)
    await harness.settled(completed(blocker))
    assert (await harness.claim_one()).id == job.id


async def a_retried_job_whose_blockers_completed_meanwhile_is_due(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))
    await harness.perform(CancelChains((job.id,)))
    await harness.settled(completed(blocker))

    (record,) = await harness.perform(RetryJobs((job.id,)))

    assert (record.status, record.open_blockers) == (Status.PENDING, 0)


async def the_last_job_of_a_longer_chain_is_retried(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job)))
    second = await harness.claim_one("publish")
    await harness.settled(failed(second))

    await harness.perform(RetryJobs((second.id,)))

    assert (await harness.chain(job.id)).last.status is Status.PENDING
    await harness.settled(completed(await harness.claim_one("publish")))
    assert (await harness.chain(job.id)).last.status is Status.COMPLETED


async def jobs_in_another_status_are_refused(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    blocked = await harness.started(new_job(after=(blocker.id,)))
    done = await harness.completed()
    running = await harness.claimed()
    pending = await harness.started()

    for job in (blocked, pending, running, done):
        error = await harness.refused(NotPending, RetryJobs((job.id,)))
        assert (error.job_id, error.status) == (job.id, job.status)


async def a_job_that_would_wait_for_a_deleted_chain_is_refused(harness: Harness) -> None:
    deleted, done = await harness.started(new_job("other")), await harness.completed()
    waits = await harness.started(new_job(after=(done.id, deleted.id)))
    free = await harness.started(new_job(after=(done.id,)))
    await harness.perform(CancelChains((waits.id, free.id)))
    await harness.perform(Delete((deleted.id, done.id)))
    before = await harness.everything()

    error = await harness.refused(NotPending, RetryJobs((free.id, waits.id)))

    assert (error.job_id, error.status) == (waits.id, Status.CANCELLED)
    assert await harness.everything() == before
    assert [job.status for job in await harness.perform(RetryJobs((free.id,)))] == [Status.PENDING]


async def a_chain_is_not_retried_while_a_newer_chain_with_its_key_is_unfinished(harness: Harness) -> None:
    old = await harness.claimed(new_job(key="report"))
    await harness.settled(continued(old, next_job(old)))
    step = await harness.claim_one("publish")
    await harness.settled(failed(step))
    newer = await harness.started(new_job(key="report"))
    before = await harness.everything()

    error = await harness.refused(NotPending, RetryJobs((step.id,)))

    assert (error.job_id, error.status) == (step.id, Status.FAILED)
    assert newer.id in str(error)
    assert await harness.everything() == before
    await harness.perform(CancelChains((newer.id,)))
    assert [job.status for job in await harness.perform(RetryJobs((step.id,)))] == [Status.PENDING]


async def two_chains_with_the_same_key_are_not_retried_together(harness: Harness) -> None:
    older, newer = [await harness.started(new_job(key="report", dedup="any", window=0)) for _ in range(2)]
    await harness.perform(CancelChains((older.id, newer.id)))
    before = await harness.everything()

    error = await harness.refused(NotPending, RetryJobs((older.id, newer.id)))

    assert error.job_id == newer.id
    assert await harness.everything() == before


async def a_job_that_is_not_the_last_of_its_chain_is_refused(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job)))
    await harness.settled(failed(await harness.claim_one("publish")))

    error = await harness.refused(NotPending, RetryJobs((job.id,)))

    assert (error.job_id, error.status) == (job.id, Status.COMPLETED)


async def one_refused_job_refuses_the_whole_operation(harness: Harness) -> None:
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    running, unknown = await harness.claimed(), new_id()
    before = await harness.everything()

    assert (await harness.refused(NotPending, RetryJobs((lost.id, running.id)))).job_id == running.id
    assert (await harness.refused(JobNotFound, RetryJobs((lost.id, unknown)))).job_id == unknown

    assert await harness.everything() == before


async def an_unknown_job_is_reported_before_a_job_in_another_status(harness: Harness) -> None:
    running, unknown = await harness.claimed(), new_id()

    assert (await harness.refused(JobNotFound, RetryJobs((running.id, unknown)))).job_id == unknown


async def a_job_that_is_given_twice_is_retried_once_and_returned_twice(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(failed(job))

    records = await harness.perform(RetryJobs((job.id, job.id)))

    assert [record.status for record in records] == [Status.PENDING] * 2


async def one_of_two_concurrent_retries_of_a_job_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(10):
        job = await harness.claimed()
        await harness.settled(failed(job))

        answers = await harness.race([g.perform(RetryJobs((job.id,))) for g in (harness, other)])

        losers += sum(isinstance(answer, NotPending) for answer in answers)
        await harness.settled(completed(await harness.claim_one()))
    assert losers == 10
