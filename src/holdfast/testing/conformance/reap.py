"""Reaping: taking jobs back from workers that stopped renewing."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.operations import Pause, Reap, Renew
from holdfast.record import FOR_EVER, Status
from holdfast.testing.builders import completed, new_job, released, retrying
from holdfast.testing.conformance.ground import Ground


async def a_job_with_attempts_left_is_pending_and_due_at_once(ground: Ground) -> None:
    job = await ground.claimed(worker="gone")
    await ground.expire()

    ((record, worker),) = await ground.reap()

    assert (record.id, record.status, record.attempt, worker) == (job.id, Status.PENDING, 1, "gone")
    assert record.scheduled_at == ground.clock()
    assert (record.worker, record.token, record.leased_until, record.renewed_at) == (None, None, None, None)
    assert "lease lost" in await ground.error(record.id)
    assert await ground.job(job.id) == record
    assert (await ground.claim_one()).attempt == 2


async def a_job_without_attempts_left_fails_as_lease_lost(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=1))
    await ground.expire()

    ((record, _),) = await ground.reap()

    assert (record.id, record.status, record.finished_at) == (job.id, Status.FAILED, ground.clock())
    assert "lease lost" in await ground.error(record.id)
    assert await ground.claim() == []


async def a_job_that_kills_its_workers_ends_after_its_attempts(ground: Ground) -> None:
    await ground.claimed(max_attempts=3)
    for _ in range(2):
        await ground.expire()
        await ground.reap()
        await ground.claim_one(max_attempts=3)
    await ground.expire()

    ((record, _),) = await ground.reap()

    assert (record.attempt, record.status) == (3, Status.FAILED)


async def a_job_without_end_is_always_given_back(ground: Ground) -> None:
    await ground.claimed(new_job(max_attempts=FOR_EVER), max_attempts=1)
    for _ in range(5):
        await ground.expire()
        ((record, _),) = await ground.reap()
        assert record.status is Status.PENDING
        await ground.claim_one()


async def a_released_attempt_does_not_count_against_the_limit(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=2))
    await ground.settled(released(job))
    await ground.claim_one()
    await ground.expire()

    ((record, _),) = await ground.reap()

    assert (record.attempt, record.status) == (1, Status.PENDING)


async def a_lease_ends_at_its_time_and_not_before(ground: Ground) -> None:
    job = await ground.claimed(lease=30)

    ground.clock.advance(29.999999)
    assert await ground.reap() == []
    ground.clock.advance(0.000001)
    assert [reaped.record.id for reaped in await ground.reap()] == [job.id]


async def only_running_jobs_are_taken_back(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    await ground.start(new_job(after=(blocker.id,)), new_job(delay=1))
    await ground.completed()
    await ground.settled(retrying(await ground.claimed()))
    await ground.expire()

    assert await ground.reap("resize", "other") == []


async def only_these_types_are_taken_back(ground: Ground) -> None:
    await ground.claimed(new_job("resize"))
    mine = await ground.claimed(new_job("publish"))
    await ground.expire()

    assert [reaped.record.id for reaped in await ground.reap("publish", "ship")] == [mine.id]
    assert await ground.perform(Reap((), (), 10)) == []


async def paused_types_are_taken_back_too(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Pause(("resize",)))
    await ground.expire()

    assert [reaped.record.id for reaped in await ground.reap()] == [job.id]


async def held_claims_are_left_alone(ground: Ground) -> None:
    held, other = await ground.claimed(), await ground.claimed()
    await ground.expire()

    reaped = await ground.perform(Reap(("resize",), (held.claim,), 10))

    assert [one.record.id for one in reaped] == [other.id]
    assert await ground.job(held.id) == held
    await ground.settled(completed(held))


async def holding_an_older_claim_of_the_job_does_not_keep_it(ground: Ground) -> None:
    old = await ground.claimed(worker="w")
    await ground.expire()
    await ground.reap()
    await ground.claim_one(worker="w")
    await ground.expire()

    reaped = await ground.perform(Reap(("resize",), (old.claim,), 10))

    assert [one.record.id for one in reaped] == [old.id]


async def held_claims_do_not_use_up_the_limit(ground: Ground) -> None:
    held = [await ground.claimed() for _ in range(3)]
    other = await ground.claimed()
    await ground.expire()

    reaped = await ground.perform(Reap(("resize",), tuple(job.claim for job in held), 1))

    assert [one.record.id for one in reaped] == [other.id]


async def the_oldest_are_taken_back_first_up_to_the_limit(ground: Ground) -> None:
    late, early, middle = [await ground.claimed(lease=lease) for lease in (30, 10, 20)]
    await ground.expire()

    assert [reaped.record.id for reaped in await ground.reap(limit=2)] == [early.id, middle.id]
    assert [reaped.record.id for reaped in await ground.reap(limit=2)] == [late.id]
    assert await ground.reap(limit=2) == []


async def a_renewed_lease_counts_from_its_renewal(ground: Ground) -> None:
    renewed, other = await ground.claimed(), await ground.claimed()
    ground.clock.advance(20)
    await ground.perform(Renew(((renewed.claim, 30 * SECOND),)))
    ground.clock.advance(20)

    assert [reaped.record.id for reaped in await ground.reap()] == [other.id]


async def a_reaped_job_goes_to_the_end_of_those_that_are_due(ground: Ground) -> None:
    reaped = await ground.claimed()
    await ground.expire()
    waiting = await ground.started(new_job())
    ground.clock.advance(1)
    await ground.reap()

    assert [(await ground.claim_one()).id for _ in range(2)] == [waiting.id, reaped.id]


async def of_many_reapers_at_once_one_takes_each_job_back(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(10):
        jobs = [await ground.claimed() for _ in range(3)]
        await ground.expire()

        answers = await ground.race([g.reap(limit=1) for g in [ground, other] * 4])

        taken = [reaped.record.id for answer in answers if isinstance(answer, list) for reaped in answer]
        assert sorted(taken) == sorted(job.id for job in jobs)
        losers += answers.count([])
        again = await ground.claim(limit=10)
        assert len(again) == 3
        await ground.settle(*[completed(job) for job in again])
    assert losers == 50
