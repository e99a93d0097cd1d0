"""Renewing: keeping what one holds, and learning what one lost."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.ids import new_id
from holdfast.operations import Cancel, Complete, Delete, Renew, Step
from holdfast.record import Claim
from holdfast.testing.builders import new_job
from holdfast.testing.conformance.ground import Ground


async def each_lease_is_extended_by_its_own_time_from_now(ground: Ground) -> None:
    one, two = await ground.claimed(lease=30), await ground.claimed(lease=30)
    ground.clock.advance(20)
    now = ground.clock()

    lost = await ground.perform(Renew(((one.claim, 30 * SECOND), (two.claim, 5 * SECOND))))

    assert lost == {}
    one, two = await ground.job(one.id), await ground.job(two.id)
    assert (one.leased_until, one.renewed_at) == (now + 30 * SECOND, now)
    assert (two.leased_until, two.renewed_at) == (now + 5 * SECOND, now)


async def renewing_changes_nothing_but_the_lease(ground: Ground) -> None:
    job = await ground.claimed()
    ground.clock.advance(1)

    await ground.perform(Renew(((job.claim, 9 * SECOND),)))

    renewed = await ground.job(job.id)
    assert (renewed.token, renewed.worker, renewed.attempt) == (job.token, job.worker, job.attempt)
    assert (renewed.started_at, renewed.scheduled_at, renewed.status) == (job.started_at, job.scheduled_at, job.status)


async def a_renewed_job_is_not_reaped_when_its_first_lease_would_have_ended(ground: Ground) -> None:
    job = await ground.claimed(lease=30)
    ground.clock.advance(29)
    await ground.perform(Renew(((job.claim, 30 * SECOND),)))

    ground.clock.advance(29)
    assert await ground.reap() == []
    ground.clock.advance(1)
    assert [reaped.record.id for reaped in await ground.reap()] == [job.id]


async def a_lease_that_ran_out_but_was_not_reaped_is_renewed(ground: Ground) -> None:
    job = await ground.claimed(lease=30)
    ground.clock.advance(3600)

    assert await ground.perform(Renew(((job.claim, 30 * SECOND),))) == {}
    assert await ground.reap() == []


async def the_answer_names_the_lost_claims_and_why_and_renews_the_others(ground: Ground) -> None:
    jobs = [await ground.claimed() for _ in range(5)]
    kept, cancelled, completed, deleted, reaped = jobs
    await ground.perform(Cancel((cancelled.id,)))
    await ground.perform(Complete(completed.id, completed.id, (Step(output=b"1"),)))
    await ground.perform(Delete((deleted.id,)))
    ground.clock.advance(25)
    await ground.perform(Renew(((kept.claim, 30 * SECOND),)))
    ground.clock.advance(25)
    await ground.reap()
    nobody = Claim(new_id(), "t")

    lost = await ground.perform(Renew((*[(job.claim, 30 * SECOND) for job in jobs], (nobody, SECOND))))

    assert lost == {
        cancelled.claim: "cancelled",
        completed.claim: "already_completed",
        deleted.claim: "not_found",
        reaped.claim: "taken_by_another_worker",
        nobody: "not_found",
    }
    assert (await ground.job(kept.id)).leased_until == ground.clock() + 30 * SECOND


async def renewing_nothing_answers_nothing(ground: Ground) -> None:
    assert await ground.perform(Renew(())) == {}


async def hundreds_of_leases_are_renewed_in_one_step(ground: Ground) -> None:
    await ground.start(*[new_job() for _ in range(500)])
    jobs = await ground.claim(limit=500)
    ground.clock.advance(10)

    lost = await ground.perform(Renew(tuple((job.claim, 60 * SECOND) for job in jobs)))

    assert lost == {}
    assert {job.leased_until for job in await ground.everything()} == {ground.clock() + 60 * SECOND}
