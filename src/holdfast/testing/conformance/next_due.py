"""Next due: how long a worker may sleep."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.engine.operations import CancelChains, Delete, NextDue, Pause, Renew, Resume, RunNow
from holdfast.testing.builders import completed, new_job, retrying
from holdfast.testing.conformance.harness import Harness


async def the_result_is_none_without_pending_and_running_jobs(harness: Harness) -> None:
    assert await _next(harness) is None

    await harness.completed()
    blocker = await harness.started(new_job("other"))
    await harness.start(new_job(after=(blocker.id,)))
    assert await _next(harness) is None


async def the_result_is_zero_for_a_due_job(harness: Harness) -> None:
    await harness.start(new_job())
    assert await _next(harness) == 0

    harness.clock.advance(60)
    assert await _next(harness) == 0


async def the_earliest_scheduled_job_counts(harness: Harness) -> None:
    await harness.start(new_job(delay=60), new_job(delay=20, priority=-5), new_job("other", delay=5))

    assert await _next(harness) == 20 * SECOND
    assert await _next(harness, "resize", "other") == 5 * SECOND
    harness.clock.advance(15)
    assert await _next(harness) == 5 * SECOND
    harness.clock.advance(15)
    assert await _next(harness) == 0


async def the_lease_of_a_running_job_counts(harness: Harness) -> None:
    job = await harness.claimed(lease=30)
    assert await _next(harness) == 30 * SECOND

    harness.clock.advance(10)
    assert await _next(harness) == 20 * SECOND
    await harness.perform(Renew(((job.claim, 30 * SECOND),)))
    assert await _next(harness) == 30 * SECOND
    harness.clock.advance(100)
    assert await _next(harness) == 0
    await harness.settled(completed(job))
    assert await _next(harness) is None


async def the_earlier_of_a_due_time_and_a_lease_counts(harness: Harness) -> None:
    await harness.claimed(lease=30)
    await harness.start(new_job(delay=40))
    assert await _next(harness) == 30 * SECOND

    await harness.start(new_job(delay=20))
    assert await _next(harness) == 20 * SECOND


async def other_types_do_not_count(harness: Harness) -> None:
    await harness.claimed(new_job("other"))
    await harness.start(new_job("other"))

    assert await _next(harness) is None
    assert await harness.perform(NextDue(())) is None


async def the_jobs_of_a_paused_type_do_not_count(harness: Harness) -> None:
    await harness.start(new_job(), new_job("other", delay=9))
    await harness.perform(Pause(("resize",)))
    assert await _next(harness) is None
    assert await _next(harness, "resize", "other") == 9 * SECOND

    await harness.perform(Resume(("resize",)))
    assert await _next(harness) == 0


async def deleted_and_finished_jobs_do_not_count(harness: Harness) -> None:
    cancelled, deleted, kept = [await harness.started(new_job(delay=delay)) for delay in (5, 10, 20)]
    await harness.perform(CancelChains((cancelled.id,)))
    assert await _next(harness) == 10 * SECOND

    await harness.perform(Delete((deleted.id,)))
    assert await _next(harness) == 20 * SECOND
    await harness.perform(RunNow((kept.id,)))
    assert await _next(harness) == 0
    await harness.settled(completed(await harness.claim_one()))
    assert await _next(harness) is None


async def due_jobs_that_were_not_claimed_and_then_cancelled_do_not_count(harness: Harness) -> None:
    first, second = await harness.started(), await harness.started()
    job = await harness.claim_one()
    assert job.id == first.id
    await harness.settled(completed(job))
    assert await _next(harness) == 0

    await harness.perform(CancelChains((second.id,)))

    assert await _next(harness) is None


async def a_retrying_job_counts_with_its_new_due_time(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job, delay=10))
    assert await _next(harness) == 10 * SECOND

    harness.clock.advance(10)
    again = await harness.claim_one()
    await harness.settled(retrying(again, delay=20))
    assert await _next(harness) == 20 * SECOND


async def a_claim_after_the_returned_time_finds_the_job(harness: Harness) -> None:
    await harness.start(new_job(delay=12.345678))
    wait = await _next(harness)
    assert wait is not None
    harness.clock.advance(wait / SECOND)
    await harness.claim_one(lease=7.654321)

    lease = await _next(harness)
    assert lease is not None
    harness.clock.advance(lease / SECOND)

    assert len(await harness.reap()) == 1


async def _next(harness: Harness, *types: str) -> int | None:
    return await harness.perform(NextDue(types or ("resize",)))
