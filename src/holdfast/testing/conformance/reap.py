"""Reap: end the attempts of running jobs whose lease expired."""

from __future__ import annotations

from holdfast.core import lost_claims
from holdfast.core.clock import SECOND
from holdfast.core.record import UNLIMITED, Status
from holdfast.engine.operations import Pause, Reap, Renew
from holdfast.testing.builders import completed, new_job, released, retrying
from holdfast.testing.conformance.harness import Harness


async def a_job_with_attempts_left_becomes_pending_and_due_now(harness: Harness) -> None:
    job = await harness.claimed(worker="w1")
    await harness.expire()

    ((record, worker),) = await harness.reap()

    assert (record.id, record.status, record.attempt, worker) == (job.id, Status.PENDING, 1, "w1")
    assert record.scheduled_at == harness.clock()
    assert (record.worker, record.token, record.leased_until, record.renewed_at) == (None, None, None, None)
    assert record == lost_claims.reap(job, harness.clock())
    assert await harness.error(record.id) == "LeaseLost: lease lost: worker w1 stopped renewing it"
    assert await harness.job(job.id) == record
    assert (await harness.claim_one()).attempt == 2


async def a_job_without_attempts_left_fails_with_the_error_lease_lost(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    await harness.expire()

    ((record, _),) = await harness.reap()

    assert (record.id, record.status, record.finished_at) == (job.id, Status.FAILED, harness.clock())
    assert record == lost_claims.reap(job, harness.clock())
    assert await harness.claim() == []


async def a_job_whose_workers_always_crash_fails_after_its_last_attempt(harness: Harness) -> None:
    await harness.claimed(max_attempts=3)
    for _ in range(2):
        await harness.expire()
        await harness.reap()
        await harness.claim_one(max_attempts=3)
    await harness.expire()

    ((record, _),) = await harness.reap()

    assert (record.attempt, record.status) == (3, Status.FAILED)


async def a_job_without_a_limit_of_attempts_always_becomes_pending(harness: Harness) -> None:
    await harness.claimed(new_job(max_attempts=UNLIMITED), max_attempts=1)
    for _ in range(5):
        await harness.expire()
        ((record, _),) = await harness.reap()
        assert record.status is Status.PENDING
        await harness.claim_one()


async def a_released_attempt_does_not_count_against_the_limit(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=2))
    await harness.settled(released(job))
    await harness.claim_one()
    await harness.expire()

    ((record, _),) = await harness.reap()

    assert (record.attempt, record.status) == (1, Status.PENDING)


async def a_job_is_not_reaped_before_the_end_of_its_lease(harness: Harness) -> None:
    job = await harness.claimed(lease=30)

    harness.clock.advance(29.999999)
    assert await harness.reap() == []
    harness.clock.advance(0.000001)
    assert [reaped.record.id for reaped in await harness.reap()] == [job.id]


async def only_running_jobs_are_reaped(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    await harness.start(new_job(after=(blocker.id,)), new_job(delay=1))
    await harness.completed()
    await harness.settled(retrying(await harness.claimed()))
    await harness.expire()

    assert await harness.reap("resize", "other") == []


async def only_jobs_of_the_given_types_are_reaped(harness: Harness) -> None:
    await harness.claimed(new_job("resize"))
    mine = await harness.claimed(new_job("publish"))
    await harness.expire()

    assert [reaped.record.id for reaped in await harness.reap("publish", "ship")] == [mine.id]
    assert await harness.perform(Reap((), (), 10)) == []


async def jobs_of_paused_types_are_reaped_too(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(Pause(("resize",)))
    await harness.expire()

    assert [reaped.record.id for reaped in await harness.reap()] == [job.id]


async def held_claims_are_not_reaped(harness: Harness) -> None:
    held, other = await harness.claimed(), await harness.claimed()
    await harness.expire()

    reaped = await harness.perform(Reap(("resize",), (held.claim,), 10))

    assert [one.record.id for one in reaped] == [other.id]
    assert await harness.job(held.id) == held
    await harness.settled(completed(held))


async def an_older_claim_among_the_held_ones_does_not_prevent_the_reap(harness: Harness) -> None:
    old = await harness.claimed(worker="w")
    await harness.expire()
    await harness.reap()
    await harness.claim_one(worker="w")
    await harness.expire()

    reaped = await harness.perform(Reap(("resize",), (old.claim,), 10))

    assert [one.record.id for one in reaped] == [old.id]


async def held_claims_do_not_count_towards_the_limit(harness: Harness) -> None:
    held = [await harness.claimed() for _ in range(3)]
    other = await harness.claimed()
    await harness.expire()

    reaped = await harness.perform(Reap(("resize",), tuple(job.claim for job in held), 1))

    assert [one.record.id for one in reaped] == [other.id]


async def the_oldest_leases_are_reaped_first_up_to_the_limit(harness: Harness) -> None:
    late, early, middle = [await harness.claimed(lease=lease) for lease in (30, 10, 20)]
    await harness.expire()

    assert [reaped.record.id for reaped in await harness.reap(limit=2)] == [early.id, middle.id]
    assert [reaped.record.id for reaped in await harness.reap(limit=2)] == [late.id]
    assert await harness.reap(limit=2) == []


async def a_renewed_lease_counts_from_its_renewal(harness: Harness) -> None:
    renewed, other = await harness.claimed(), await harness.claimed()
    harness.clock.advance(20)
    await harness.perform(Renew(((renewed.claim, 30 * SECOND),)))
    harness.clock.advance(20)

    assert [reaped.record.id for reaped in await harness.reap()] == [other.id]


async def a_reaped_job_is_claimed_after_the_other_due_jobs(harness: Harness) -> None:
    reaped = await harness.claimed()
    await harness.expire()
    waiting = await harness.started(new_job())
    harness.clock.advance(1)
    await harness.reap()

    assert [(await harness.claim_one()).id for _ in range(2)] == [waiting.id, reaped.id]


async def each_job_is_reaped_once_by_concurrent_reapers(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(10):
        jobs = [await harness.claimed() for _ in range(3)]
        await harness.expire()

        answers = await harness.race([g.reap(limit=1) for g in [harness, other] * 4])

        taken = [reaped.record.id for answer in answers if isinstance(answer, list) for reaped in answer]
        assert sorted(taken) == sorted(job.id for job in jobs)
        losers += answers.count([])
        again = await harness.claim(limit=10)
        assert len(again) == 3
        await harness.settle(*[completed(job) for job in again])
    assert losers == 50
