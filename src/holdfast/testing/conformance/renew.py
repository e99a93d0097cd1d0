"""Renew: extend leases, and return the lost claims."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.ids import new_id
from holdfast.core.record import Claim
from holdfast.engine.operations import CancelChains, Complete, Completion, Delete, Renew
from holdfast.testing.builders import new_job
from holdfast.testing.conformance.harness import Harness


async def each_lease_is_extended_by_its_own_duration_from_now(harness: Harness) -> None:
    one, two = await harness.claimed(lease=30), await harness.claimed(lease=30)
    harness.clock.advance(20)
    now = harness.clock()

    lost = await harness.perform(Renew(((one.claim, 30 * SECOND), (two.claim, 5 * SECOND))))

    assert lost == {}
    one, two = await harness.job(one.id), await harness.job(two.id)
    assert (one.leased_until, one.renewed_at) == (now + 30 * SECOND, now)
    assert (two.leased_until, two.renewed_at) == (now + 5 * SECOND, now)


async def a_renewal_changes_only_the_lease(harness: Harness) -> None:
    job = await harness.claimed()
    harness.clock.advance(1)

    await harness.perform(Renew(((job.claim, 9 * SECOND),)))

    renewed = await harness.job(job.id)
    assert (renewed.token, renewed.worker, renewed.attempt) == (job.token, job.worker, job.attempt)
    assert (renewed.started_at, renewed.scheduled_at, renewed.status) == (job.started_at, job.scheduled_at, job.status)


async def a_renewed_job_is_not_reaped_at_the_end_of_its_first_lease(harness: Harness) -> None:
    job = await harness.claimed(lease=30)
    harness.clock.advance(29)
    await harness.perform(Renew(((job.claim, 30 * SECOND),)))

    harness.clock.advance(29)
    assert await harness.reap() == []
    harness.clock.advance(1)
    assert [reaped.record.id for reaped in await harness.reap()] == [job.id]


async def an_expired_lease_that_was_not_reaped_is_renewed(harness: Harness) -> None:
    job = await harness.claimed(lease=30)
    harness.clock.advance(3600)

    assert await harness.perform(Renew(((job.claim, 30 * SECOND),))) == {}
    assert await harness.reap() == []


async def lost_claims_are_returned_with_their_reasons_and_the_others_are_renewed(harness: Harness) -> None:
    jobs = [await harness.claimed() for _ in range(5)]
    kept, cancelled, completed, deleted, reaped = jobs
    await harness.perform(CancelChains((cancelled.id,)))
    await harness.perform(Complete(completed.id, completed.id, (Completion(output=b"1"),)))
    await harness.perform(Delete((deleted.id,)))
    harness.clock.advance(25)
    await harness.perform(Renew(((kept.claim, 30 * SECOND),)))
    harness.clock.advance(25)
    await harness.reap()
    unknown = Claim(new_id(), "t")

    lost = await harness.perform(Renew((*[(job.claim, 30 * SECOND) for job in jobs], (unknown, SECOND))))

    assert lost == {
        cancelled.claim: "cancelled",
        completed.claim: "already_completed",
        deleted.claim: "not_found",
        reaped.claim: "taken_by_another_worker",
        unknown: "not_found",
    }
    assert (await harness.job(kept.id)).leased_until == harness.clock() + 30 * SECOND


async def an_empty_renewal_returns_nothing(harness: Harness) -> None:
    assert await harness.perform(Renew(())) == {}


async def hundreds_of_leases_are_renewed_by_one_operation(harness: Harness) -> None:
    await harness.start(*[new_job() for _ in range(500)])
    jobs = await harness.claim(limit=500)
    harness.clock.advance(10)

    lost = await harness.perform(Renew(tuple((job.claim, 60 * SECOND) for job in jobs)))

    assert lost == {}
    assert {job.leased_until for job in await harness.everything()} == {harness.clock() + 60 * SECOND}
