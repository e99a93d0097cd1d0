"""Fencing: a write with a stale claim is refused, for every kind of write and every reason."""

from __future__ import annotations

from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Delete,
    Guard,
    LostReason,
    Renew,
    ReportProgress,
    RetryJobs,
    Settled,
)
from holdfast.errors import ClaimLost
from holdfast.testing import builders
from holdfast.testing.builders import new_job, next_job
from holdfast.testing.conformance.harness import LEASE, Harness


async def a_claim_is_stale_once_it_was_reaped(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.expire()
    await harness.reap()

    await _refused(harness, job, "taken_by_another_worker")


async def a_claim_is_stale_once_its_job_failed_in_a_reap(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    await harness.expire()
    await harness.reap()

    await _refused(harness, job, "taken_by_another_worker")


async def a_claim_is_stale_once_another_worker_has_the_job(harness: Harness) -> None:
    job = await harness.claimed(worker="one")
    await harness.expire()
    await harness.reap()
    await harness.claim_one(worker="two")

    await _refused(harness, job, "taken_by_another_worker")


async def a_claim_is_stale_once_the_same_worker_claimed_the_job_again(harness: Harness) -> None:
    job = await harness.claimed(worker="one")
    await harness.expire()
    await harness.reap()
    again = await harness.claim_one(worker="one")
    assert (again.id, again.worker) == (job.id, job.worker)

    await _refused(harness, job, "taken_by_another_worker")


async def a_claim_is_stale_once_it_was_released_and_the_attempt_number_is_used_again(harness: Harness) -> None:
    job = await harness.claimed(worker="one")
    await harness.settled(builders.released(job))
    again = await harness.claim_one(worker="one")
    assert again.attempt == job.attempt

    await _refused(harness, job, "taken_by_another_worker")


async def a_claim_is_stale_once_it_was_settled(harness: Harness) -> None:
    retried = await harness.claimed()
    await harness.settled(builders.retrying(retried, delay=60))
    await _refused(harness, retried, "taken_by_another_worker", besides=Status.PENDING)

    done = await harness.claimed()
    await harness.settled(builders.completed(done))
    await _refused(harness, done, "already_completed", besides=Status.COMPLETED)

    continued = await harness.claimed()
    await harness.settled(builders.continued(continued, next_job(continued)))
    await _refused(harness, continued, "already_completed", besides=Status.COMPLETED)

    failed = await harness.claimed()
    await harness.settled(builders.failed(failed))
    await _refused(harness, failed, "taken_by_another_worker", besides=Status.FAILED)

    cancelled = await harness.claimed()
    await harness.settled(builders.cancelled(cancelled))
    await _refused(harness, cancelled, "cancelled", besides=Status.CANCELLED)


async def a_claim_is_stale_once_its_chain_was_cancelled(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(CancelChains((job.chain_id,)))

    await _refused(harness, job, "cancelled")


async def a_claim_is_stale_once_its_chain_was_cancelled_and_retried(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(CancelChains((job.chain_id,)))
    await harness.perform(RetryJobs((job.id,)))
    await harness.claim_one()

    await _refused(harness, job, "taken_by_another_worker")


async def a_claim_is_stale_once_its_job_was_completed_from_outside(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(Complete(job.chain_id, job.id, (Completion(output=b'"external"'),)))

    await _refused(harness, job, "already_completed")


async def a_claim_is_stale_once_its_job_was_continued_from_outside(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(Complete(job.chain_id, job.id, (Completion(continuation=next_job(job)),)))

    await _refused(harness, job, "already_completed")


async def a_claim_is_stale_once_its_chain_was_deleted(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(Delete((job.chain_id,)))

    await _refused(harness, job, "not_found")


async def the_token_of_another_job_is_refused(harness: Harness) -> None:
    await harness.start(new_job(), new_job())
    one, two = await harness.claim(token="t1"), await harness.claim(token="t2")
    (first,), (second,) = one, two

    forged = builders.completed(first)
    (answer,) = await harness.settle(Settlement(second.claim._replace(token="t1"), forged.status, "completed"))

    assert answer.lost == "taken_by_another_worker"
    assert await harness.job(second.id) == second


async def a_claim_with_an_expired_lease_holds_until_it_is_reaped(harness: Harness) -> None:
    renewed, settled, noted = [(await harness.claimed()) for _ in range(3)]
    await harness.expire()

    assert await harness.perform(Renew(((renewed.claim, LEASE),))) == {}
    assert (await harness.settle(builders.completed(settled)))[0].lost is None
    assert await harness.perform(ReportProgress(noted.claim, 0.5, None)) is None
    await harness.perform(Guard(noted.claim))


async def _refused(harness: Harness, job: Record, reason: LostReason, *, besides: Status | None = None) -> None:
    """Try every write with a stale claim: each returns the reason, and nothing changes.

    A settlement with the status `besides` may be the one that was written before; it is then accepted again.
    """
    before = await harness.everything()
    side_chain = new_job("side")

    assert await harness.perform(Renew(((job.claim, LEASE),))) == {job.claim: reason}
    assert await harness.perform(ReportProgress(job.claim, 0.9, "late")) == reason
    error = await harness.refused(ClaimLost, Guard(job.claim))
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
        (alone,) = await harness.settle(settlement)
        assert alone == Settled(lost=None if settlement.status is besides else reason)
    expected = [None if settlement.status is besides else reason for settlement in settlements]
    assert [answer.lost for answer in await harness.settle(*settlements)] == expected

    assert await harness.everything() == before
