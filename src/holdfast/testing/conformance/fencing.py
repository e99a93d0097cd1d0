"""A stale claim writes nothing, whatever it is asked to write and however it went stale."""

from __future__ import annotations

from holdfast.errors import ClaimLost
from holdfast.lifecycle import Settlement
from holdfast.operations import (
    Cancel,
    Complete,
    Delete,
    Guard,
    LostReason,
    Renew,
    ReportProgress,
    RetryJobs,
    Settled,
    Step,
)
from holdfast.record import Record, Status
from holdfast.testing import builders
from holdfast.testing.builders import new_job, next_job
from holdfast.testing.conformance.ground import LEASE, Ground


async def a_claim_is_stale_once_it_was_reaped(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.expire()
    await ground.reap()

    await _refused(ground, job, "taken_by_another_worker")


async def a_claim_is_stale_once_it_was_reaped_for_the_last_time(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=1))
    await ground.expire()
    await ground.reap()

    await _refused(ground, job, "taken_by_another_worker")


async def a_claim_is_stale_once_another_worker_has_the_job(ground: Ground) -> None:
    job = await ground.claimed(worker="one")
    await ground.expire()
    await ground.reap()
    await ground.claim_one(worker="two")

    await _refused(ground, job, "taken_by_another_worker")


async def a_claim_is_stale_once_the_same_worker_claimed_the_job_again(ground: Ground) -> None:
    job = await ground.claimed(worker="one")
    await ground.expire()
    await ground.reap()
    again = await ground.claim_one(worker="one")
    assert (again.id, again.worker) == (job.id, job.worker)

    await _refused(ground, job, "taken_by_another_worker")


async def a_claim_is_stale_once_it_was_released_though_the_attempt_number_returns(ground: Ground) -> None:
    job = await ground.claimed(worker="one")
    await ground.settled(builders.released(job))
    again = await ground.claim_one(worker="one")
    assert again.attempt == job.attempt

    await _refused(ground, job, "taken_by_another_worker")


async def a_claim_is_stale_once_it_was_settled(ground: Ground) -> None:
    retried = await ground.claimed()
    await ground.settled(builders.retrying(retried, delay=60))
    await _refused(ground, retried, "taken_by_another_worker", besides=Status.PENDING)

    done = await ground.claimed()
    await ground.settled(builders.completed(done))
    await _refused(ground, done, "already_completed", besides=Status.COMPLETED)

    continued = await ground.claimed()
    await ground.settled(builders.continued(continued, next_job(continued)))
    await _refused(ground, continued, "already_completed", besides=Status.COMPLETED)

    failed = await ground.claimed()
    await ground.settled(builders.failed(failed))
    await _refused(ground, failed, "taken_by_another_worker", besides=Status.FAILED)

    cancelled = await ground.claimed()
    await ground.settled(builders.cancelled(cancelled))
    await _refused(ground, cancelled, "cancelled", besides=Status.CANCELLED)


async def a_claim_is_stale_once_its_chain_was_cancelled(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Cancel((job.chain_id,)))

    await _refused(ground, job, "cancelled")


async def a_claim_is_stale_once_its_chain_was_cancelled_and_retried(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Cancel((job.chain_id,)))
    await ground.perform(RetryJobs((job.id,)))
    await ground.claim_one()

    await _refused(ground, job, "taken_by_another_worker")


async def a_claim_is_stale_once_its_job_was_completed_from_outside(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Complete(job.chain_id, job.id, (Step(output=b'"theirs"'),)))

    await _refused(ground, job, "already_completed")


async def a_claim_is_stale_once_its_job_was_continued_from_outside(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Complete(job.chain_id, job.id, (Step(continuation=next_job(job)),)))

    await _refused(ground, job, "already_completed")


async def a_claim_is_stale_once_its_chain_was_deleted(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Delete((job.chain_id,)))

    await _refused(ground, job, "not_found")


async def a_token_of_another_job_is_no_proof(ground: Ground) -> None:
    await ground.start(new_job(), new_job())
    one, two = await ground.claim(token="t1"), await ground.claim(token="t2")
    (first,), (second,) = one, two

    forged = builders.completed(first)
    (answer,) = await ground.settle(Settlement(second.claim._replace(token="t1"), forged.status, "completed"))

    assert answer.lost == "taken_by_another_worker"
    assert await ground.job(second.id) == second


async def a_lease_that_ran_out_but_was_not_reaped_is_still_good(ground: Ground) -> None:
    renewed, settled, noted = [(await ground.claimed()) for _ in range(3)]
    await ground.expire()

    assert await ground.perform(Renew(((renewed.claim, LEASE),))) == {}
    assert (await ground.settle(builders.completed(settled)))[0].lost is None
    assert await ground.perform(ReportProgress(noted.claim, 0.5, None)) is None
    await ground.perform(Guard(noted.claim))


async def _refused(ground: Ground, job: Record, reason: LostReason, *, besides: Status | None = None) -> None:
    """Try every write that takes a claim with a stale one: it is told why, and nothing changes.

    Settlements into the status `besides` may be the one that stands written, sent again.
    """
    before = await ground.everything()
    side_chain = new_job("side")

    assert await ground.perform(Renew(((job.claim, LEASE),))) == {job.claim: reason}
    assert await ground.perform(ReportProgress(job.claim, 0.9, "late")) == reason
    error = await ground.refused(ClaimLost, Guard(job.claim))
    assert (error.job_id, error.reason) == (job.id, reason)
    settlements = (
        builders.completed(job, b'"late"'),
        builders.completed(job, starts=(side_chain,)),
        builders.continued(job, next_job(job, "late")),
        builders.retrying(job),
        builders.rescheduled(job, delay=5),
        builders.released(job),
        builders.failed(job),
        builders.cancelled(job),
    )
    for settlement in settlements:
        (alone,) = await ground.settle(settlement)
        assert alone == Settled(lost=None if settlement.status is besides else reason)
    expected = [None if settlement.status is besides else reason for settlement in settlements]
    assert [answer.lost for answer in await ground.settle(*settlements)] == expected

    assert await ground.everything() == before
