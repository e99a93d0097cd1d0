"""Mismatches: an attempt that ended since its worker could not read the input. It does not count."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from holdfast.clock import SECOND
from holdfast.lifecycle import Settlement
from holdfast.operations import (
    Cancel,
    Complete,
    Listen,
    ReadEvents,
    Renew,
    ReportProgress,
    RetryJobs,
    RunNow,
    Settled,
    Step,
)
from holdfast.record import Record, Status
from holdfast.testing.builders import (
    cancelled,
    completed,
    continued,
    failed,
    mismatched,
    mismatched_for_good,
    new_job,
    next_job,
    released,
    rescheduled,
    retrying,
)
from holdfast.testing.conformance.ground import Ground


async def a_mismatched_job_is_pending_after_its_delay_and_its_attempt_does_not_count(ground: Ground) -> None:
    job = await ground.claimed()
    ground.clock.advance(3)
    settlement = mismatched(job, delay=10, error="unknown parameter")

    assert await ground.settle(settlement) == [Settled()]

    waiting = await ground.job(job.id)
    assert (waiting.status, waiting.attempt, waiting.error) == (Status.PENDING, 0, settlement.error)
    assert waiting.scheduled_at == ground.clock() + 10 * SECOND
    assert (waiting.mismatches, waiting.mismatched_at) == (1, ground.clock())
    assert (waiting.worker, waiting.token) == (None, job.token)
    assert (waiting.leased_until, waiting.renewed_at, waiting.finished_at) == (None, None, None)


async def a_job_without_mismatches_carries_none(ground: Ground) -> None:
    job = await ground.started()

    assert (job.mismatches, job.mismatched_at) == (None, None)
    held = await ground.claim_one()
    assert (held.mismatches, held.mismatched_at) == (None, None)


async def the_next_claim_is_told_how_many_there_were_and_since_when(ground: Ground) -> None:
    job = await ground.claimed()
    first = ground.clock()
    for number in (1, 2, 3):
        await ground.settled(mismatched(job, delay=5))
        ground.clock.advance(5)

        job = await ground.claim_one()

        assert (job.attempt, job.mismatches, job.mismatched_at) == (1, number, first)
        assert (await ground.job(job.id)) == job


async def mismatches_leave_the_limit_of_attempts_untouched(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=1))
    for _ in range(5):
        await ground.settled(mismatched(job))
        job = await ground.claim_one()

    await ground.settled(completed(job))

    assert (await ground.job(job.id)).attempt == 1


async def renewals_and_progress_keep_the_mismatches_of_a_claimed_job(ground: Ground) -> None:
    await ground.settled(mismatched(await ground.claimed()))
    job = await ground.claim_one()

    await ground.perform(Renew(((job.claim, 30 * SECOND),)))
    await ground.perform(ReportProgress(job.claim, 0.5, "half"))

    held = await ground.job(job.id)
    assert (held.mismatches, held.mismatched_at) == (1, job.mismatched_at)


async def any_other_end_of_an_attempt_clears_them(ground: Ground) -> None:
    ends: list[Callable[[Record], Settlement]] = [
        completed,
        lambda job: continued(job, next_job(job)),
        retrying,
        rescheduled,
        released,
        failed,
        cancelled,
        mismatched_for_good,
    ]
    for end in ends:
        await ground.settled(mismatched(await ground.claimed(new_job("cleared")), delay=0))
        job = await ground.claim_one("cleared")

        await ground.settled(end(job))

        ended = await ground.job(job.id)
        assert (ended.mismatches, ended.mismatched_at) == (None, None)
        await ground.perform(Cancel((job.chain_id,), None))


async def a_reaped_job_begins_to_count_anew(ground: Ground) -> None:
    await ground.settled(mismatched(await ground.claimed()))
    job = await ground.claim_one()
    await ground.expire()

    [reaped] = await ground.reap(job.type)

    assert (reaped.record.mismatches, reaped.record.mismatched_at) == (None, None)
    assert await ground.job(job.id) == reaped.record


async def a_job_that_mismatched_can_be_hurried_cancelled_and_retried(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(mismatched(job, delay=60))

    [hurried] = await ground.perform(RunNow((job.id,)))
    [gone] = await ground.perform(Cancel((job.chain_id,), None))
    [again] = await ground.perform(RetryJobs((job.id,)))

    assert (hurried.mismatches, hurried.scheduled_at) == (1, ground.clock())
    assert (gone.last.mismatches, gone.last.mismatched_at) == (None, None)
    assert (again.status, again.mismatches, again.mismatched_at) == (Status.PENDING, None, None)


async def a_job_that_mismatched_can_be_completed_from_outside(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(mismatched(job, delay=60))

    await ground.perform(Complete(job.chain_id, job.id, (Step(output=b"1"),)))

    done = await ground.job(job.id)
    assert (done.status, done.mismatches, done.mismatched_at) == (Status.COMPLETED, None, None)


async def a_mismatch_for_good_fails_the_job_and_does_not_count_either(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=1))
    settlement = mismatched_for_good(job)

    await ground.settled(settlement)

    ended = await ground.job(job.id)
    assert (ended.status, ended.attempt, ended.error) == (Status.FAILED, 0, settlement.error)
    assert ended.finished_at == ground.clock()


async def a_mismatch_for_good_fails_the_jobs_that_wait_for_the_chain(ground: Ground) -> None:
    first = await ground.started()
    await ground.start(new_job("later", id="waiting", after=(first.id,), on_blocker_failure="fail"))
    job = await ground.claim_one()

    await ground.settled(mismatched_for_good(job))

    assert (await ground.job("waiting")).status is Status.FAILED


async def a_mismatch_sent_twice_counts_once(ground: Ground) -> None:
    job = await ground.claimed()
    settlement = mismatched(job, delay=5)
    await ground.settled(settlement)

    assert await ground.settle(settlement) == [Settled()]

    waiting = await ground.job(job.id)
    assert (waiting.attempt, waiting.mismatches) == (0, 1)
    assert len(await ground.past(job.id)) == 1


async def a_late_mismatch_is_ignored(ground: Ground) -> None:
    stale = await ground.claimed()
    await ground.expire()
    await ground.reap(stale.type)
    held = await ground.claim_one()

    [answer] = await ground.settle(mismatched(stale))

    assert answer == Settled(lost="taken_by_another_worker")
    assert await ground.job(held.id) == held


async def the_history_lists_each_mismatch(ground: Ground) -> None:
    job = await ground.claimed(worker="old")
    ground.clock.advance(1)
    settlement = mismatched(job, delay=5)
    await ground.settled(settlement)
    first = ground.clock()
    ground.clock.advance(5)
    again = await ground.claim_one(worker="older")
    await ground.settled(mismatched_for_good(again))

    past = await ground.past(job.id)

    assert [(each.number, each.worker, each.outcome) for each in past] == [
        (1, "old", "mismatched"),
        (1, "older", "mismatched"),
    ]
    assert (past[0].ended_at, past[0].error, past[0].next_at) == (first, settlement.error, first + 5 * SECOND)
    assert past[1].next_at is None


async def a_mismatch_is_an_event_of_its_own(ground: Ground) -> None:
    after = await ground.perform(Listen("listener", 60 * SECOND))
    job = await ground.claimed(worker="old")
    await ground.settled(mismatched(job))
    await ground.settled(mismatched_for_good(await ground.claim_one(worker="old")))

    kinds = [event.kind for event in await ground.perform(ReadEvents(after, 100))]

    assert kinds == ["created", "claimed", "mismatched", "claimed", "failed"]


async def several_outcomes_in_one_step_do_not_mix(ground: Ground) -> None:
    jobs = [await ground.claimed() for _ in range(5)]
    one, two, three, four, five = jobs

    answers = await ground.settle(
        mismatched(one, delay=1), retrying(two, delay=2), released(three), completed(four),
        replace(mismatched_for_good(five), keep=7 * SECOND),
    )  # fmt: skip

    assert answers == [Settled()] * 5
    now = [await ground.job(job.id) for job in jobs]
    assert [job.status for job in now] == [
        Status.PENDING, Status.PENDING, Status.PENDING, Status.COMPLETED, Status.FAILED
    ]  # fmt: skip
    assert [job.attempt for job in now] == [0, 1, 0, 1, 0]
    assert [job.mismatches for job in now] == [1, None, None, None, None]
    assert now[4].keep == 7 * SECOND
