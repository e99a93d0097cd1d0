"""Run now: make pending jobs due."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.ids import new_id
from holdfast.core.record import Status
from holdfast.engine.operations import Audit, CancelChains, GetAudit, Listen, ReadEvents, RunNow
from holdfast.errors import JobNotFound, NotPending
from holdfast.testing.builders import new_job, retrying
from holdfast.testing.conformance.harness import Harness


async def a_scheduled_job_becomes_due_now(harness: Harness) -> None:
    job = await harness.started(new_job(delay=3600))
    harness.clock.advance(5)

    (record,) = await harness.perform(RunNow((job.id,)))

    assert (record.id, record.status, record.scheduled_at) == (job.id, Status.PENDING, harness.clock())
    assert (await harness.claim_one()).id == job.id


async def a_job_that_waits_for_its_next_attempt_becomes_due_now(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job, delay=300))

    await harness.perform(RunNow((job.id,)))

    assert (await harness.claim_one()).attempt == 2


async def a_job_that_is_already_due_keeps_its_position(harness: Harness) -> None:
    first, second = await harness.started(), await harness.started()
    harness.clock.advance(5)

    (record,) = await harness.perform(RunNow((first.id,)))

    assert record == first
    assert [(await harness.claim_one()).id for _ in range(2)] == [first.id, second.id]


async def a_job_that_is_named_twice_is_made_due_once(harness: Harness) -> None:
    job = await harness.started(new_job(delay=3600))
    after = await harness.perform(Listen("me", 3600 * SECOND))

    records = await harness.perform(RunNow((job.id, job.id), audit=Audit("ann")))

    assert [record.scheduled_at for record in records] == [harness.clock()] * 2
    assert [event.kind for event in await harness.perform(ReadEvents(after, 9))] == ["made_due"]
    assert [entry.action for entry in await harness.perform(GetAudit(9))] == ["run_now"]


async def jobs_in_another_status_are_refused(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    blocked = await harness.started(new_job(after=(blocker.id,)))
    done = await harness.completed()
    running = await harness.claimed()
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,)))

    for job in (blocked, done, running, await harness.job(dropped.id)):
        error = await harness.refused(NotPending, RunNow((job.id,)))
        assert (error.job_id, error.status) == (job.id, job.status)


async def one_refused_job_refuses_the_whole_operation(harness: Harness) -> None:
    running = await harness.claimed()
    waiting, unknown = await harness.started(new_job(delay=60)), new_id()
    before = await harness.everything()

    assert (await harness.refused(NotPending, RunNow((waiting.id, running.id)))).job_id == running.id
    assert (await harness.refused(JobNotFound, RunNow((waiting.id, unknown)))).job_id == unknown

    assert await harness.everything() == before


async def a_job_that_is_given_twice_is_returned_twice(harness: Harness) -> None:
    job = await harness.started(new_job(delay=60))

    records = await harness.perform(RunNow((job.id, job.id)))

    assert [record.scheduled_at for record in records] == [harness.clock()] * 2
    assert len(await harness.claim(limit=10)) == 1
