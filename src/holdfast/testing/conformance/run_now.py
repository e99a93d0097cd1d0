"""Running now: pending jobs need not wait for their time."""

from __future__ import annotations

from holdfast.errors import JobNotFound, NotPending
from holdfast.ids import new_id
from holdfast.operations import Cancel, RunNow
from holdfast.record import Status
from holdfast.testing.builders import new_job, retrying
from holdfast.testing.conformance.ground import Ground


async def a_scheduled_job_is_due_at_once(ground: Ground) -> None:
    job = await ground.started(new_job(delay=3600))
    ground.clock.advance(5)

    (record,) = await ground.perform(RunNow((job.id,)))

    assert (record.id, record.status, record.scheduled_at) == (job.id, Status.PENDING, ground.clock())
    assert (await ground.claim_one()).id == job.id


async def a_job_that_waits_for_its_next_attempt_is_due_at_once(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(retrying(job, delay=300))

    await ground.perform(RunNow((job.id,)))

    assert (await ground.claim_one()).attempt == 2


async def a_job_that_is_due_already_keeps_its_place(ground: Ground) -> None:
    first, second = await ground.started(), await ground.started()
    ground.clock.advance(5)

    (record,) = await ground.perform(RunNow((first.id,)))

    assert record == first
    assert [(await ground.claim_one()).id for _ in range(2)] == [first.id, second.id]


async def jobs_in_another_status_are_refused(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    blocked = await ground.started(new_job(after=(blocker.id,)))
    done = await ground.completed()
    running = await ground.claimed()
    dropped = await ground.started()
    await ground.perform(Cancel((dropped.id,)))

    for job in (blocked, done, running, await ground.job(dropped.id)):
        error = await ground.refused(NotPending, RunNow((job.id,)))
        assert (error.job_id, error.status) == (job.id, job.status)


async def one_that_cannot_run_now_leaves_all_as_they_are(ground: Ground) -> None:
    running = await ground.claimed()
    waiting, unknown = await ground.started(new_job(delay=60)), new_id()
    before = await ground.everything()

    assert (await ground.refused(NotPending, RunNow((waiting.id, running.id)))).job_id == running.id
    assert (await ground.refused(JobNotFound, RunNow((waiting.id, unknown)))).job_id == unknown

    assert await ground.everything() == before


async def a_job_named_twice_is_answered_twice(ground: Ground) -> None:
    job = await ground.started(new_job(delay=60))

    records = await ground.perform(RunNow((job.id, job.id)))

    assert [record.scheduled_at for record in records] == [ground.clock()] * 2
    assert len(await ground.claim(limit=10)) == 1
