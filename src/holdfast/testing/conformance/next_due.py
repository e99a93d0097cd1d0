"""How long a worker may sleep."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.operations import Cancel, Delete, NextDue, Pause, Renew, Resume, RunNow
from holdfast.testing.builders import completed, new_job, retrying
from holdfast.testing.conformance.ground import Ground


async def with_nothing_to_wait_for_there_is_no_answer(ground: Ground) -> None:
    assert await _next(ground) is None

    await ground.completed()
    blocker = await ground.started(new_job("other"))
    await ground.start(new_job(after=(blocker.id,)))
    assert await _next(ground) is None


async def a_due_job_means_now_and_never_less(ground: Ground) -> None:
    await ground.start(new_job())
    assert await _next(ground) == 0

    ground.clock.advance(60)
    assert await _next(ground) == 0


async def the_first_of_the_scheduled_counts(ground: Ground) -> None:
    await ground.start(new_job(delay=60), new_job(delay=20, priority=-5), new_job("other", delay=5))

    assert await _next(ground) == 20 * SECOND
    assert await _next(ground, "resize", "other") == 5 * SECOND
    ground.clock.advance(15)
    assert await _next(ground) == 5 * SECOND
    ground.clock.advance(15)
    assert await _next(ground) == 0


async def the_lease_of_a_running_job_counts(ground: Ground) -> None:
    job = await ground.claimed(lease=30)
    assert await _next(ground) == 30 * SECOND

    ground.clock.advance(10)
    assert await _next(ground) == 20 * SECOND
    await ground.perform(Renew(((job.claim, 30 * SECOND),)))
    assert await _next(ground) == 30 * SECOND
    ground.clock.advance(100)
    assert await _next(ground) == 0
    await ground.settled(completed(job))
    assert await _next(ground) is None


async def whichever_comes_first_counts(ground: Ground) -> None:
    await ground.claimed(lease=30)
    await ground.start(new_job(delay=40))
    assert await _next(ground) == 30 * SECOND

    await ground.start(new_job(delay=20))
    assert await _next(ground) == 20 * SECOND


async def other_types_do_not_count(ground: Ground) -> None:
    await ground.claimed(new_job("other"))
    await ground.start(new_job("other"))

    assert await _next(ground) is None
    assert await ground.perform(NextDue(())) is None


async def the_jobs_of_a_paused_type_do_not_count(ground: Ground) -> None:
    await ground.start(new_job(), new_job("other", delay=9))
    await ground.perform(Pause(("resize",)))
    assert await _next(ground) is None
    assert await _next(ground, "resize", "other") == 9 * SECOND

    await ground.perform(Resume(("resize",)))
    assert await _next(ground) == 0


async def jobs_that_are_gone_do_not_count(ground: Ground) -> None:
    cancelled, deleted, kept = [await ground.started(new_job(delay=delay)) for delay in (5, 10, 20)]
    await ground.perform(Cancel((cancelled.id,)))
    assert await _next(ground) == 10 * SECOND

    await ground.perform(Delete((deleted.id,)))
    assert await _next(ground) == 20 * SECOND
    await ground.perform(RunNow((kept.id,)))
    assert await _next(ground) == 0
    await ground.settled(completed(await ground.claim_one()))
    assert await _next(ground) is None


async def due_jobs_that_were_passed_over_and_then_cancelled_do_not_count(ground: Ground) -> None:
    first, second = await ground.started(), await ground.started()
    job = await ground.claim_one()
    assert job.id == first.id
    await ground.settled(completed(job))
    assert await _next(ground) == 0

    await ground.perform(Cancel((second.id,)))

    assert await _next(ground) is None


async def a_job_that_will_be_tried_again_counts_by_its_new_time(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(retrying(job, delay=10))
    assert await _next(ground) == 10 * SECOND

    ground.clock.advance(10)
    again = await ground.claim_one()
    await ground.settled(retrying(again, delay=20))
    assert await _next(ground) == 20 * SECOND


async def who_wakes_when_told_finds_what_it_was_told_of(ground: Ground) -> None:
    await ground.start(new_job(delay=12.345678))
    wait = await _next(ground)
    assert wait is not None
    ground.clock.advance(wait / SECOND)
    await ground.claim_one(lease=7.654321)

    lease = await _next(ground)
    assert lease is not None
    ground.clock.advance(lease / SECOND)

    assert len(await ground.reap()) == 1


async def _next(ground: Ground, *types: str) -> int | None:
    return await ground.perform(NextDue(types or ("resize",)))
