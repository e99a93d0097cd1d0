"""Mismatch: the worker could not read the input. The attempt does not count."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Listen,
    ReadEvents,
    Renew,
    ReportProgress,
    RetryJobs,
    RunNow,
    Settled,
)
from holdfast.testing.builders import (
    cancelled,
    completed,
    continued,
    failed,
    finally_mismatched,
    mismatched,
    new_job,
    next_job,
    released,
    rescheduled,
    retrying,
)
from holdfast.testing.conformance.harness import Harness


async def a_mismatched_job_is_pending_after_the_delay_and_its_attempt_does_not_count(harness: Harness) -> None:
    job = await harness.claimed()
    harness.clock.advance(3)
    settlement = mismatched(job, delay=10, error="unknown parameter")

    assert await harness.settle(settlement) == [Settled()]

    waiting = await harness.job(job.id)
    assert (waiting.status, waiting.attempt, waiting.error) == (Status.PENDING, 0, settlement.error)
    assert waiting.scheduled_at == harness.clock() + 10 * SECOND
    assert (waiting.mismatches, waiting.mismatched_at) == (1, harness.clock())
    assert (waiting.worker, waiting.token) == (None, job.token)
    assert (waiting.leased_until, waiting.renewed_at, waiting.finished_at) == (None, None, None)


async def a_job_without_mismatches_has_no_mismatch_fields(harness: Harness) -> None:
    job = await harness.started()

    assert (job.mismatches, job.mismatched_at) == (None, None)
    held = await harness.claim_one()
    assert (held.mismatches, held.mismatched_at) == (None, None)


async def the_next_claim_returns_the_number_and_the_first_time_of_the_mismatches(harness: Harness) -> None:
    job = await harness.claimed()
    first = harness.clock()
    for number in (1, 2, 3):
        await harness.settled(mismatched(job, delay=5))
        harness.clock.advance(5)

        job = await harness.claim_one()

        assert (job.attempt, job.mismatches, job.mismatched_at) == (1, number, first)
        assert (await harness.job(job.id)) == job


async def mismatches_do_not_count_as_attempts(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    for _ in range(5):
        await harness.settled(mismatched(job))
        job = await harness.claim_one()

    await harness.settled(completed(job))

    assert (await harness.job(job.id)).attempt == 1


async def renewals_and_progress_keep_the_mismatches_of_a_claimed_job(harness: Harness) -> None:
    await harness.settled(mismatched(await harness.claimed()))
    job = await harness.claim_one()

    await harness.perform(Renew(((job.claim, 30 * SECOND),)))
    await harness.perform(ReportProgress(job.claim, 0.5, "half"))

    held = await harness.job(job.id)
    assert (held.mismatches, held.mismatched_at) == (1, job.mismatched_at)


async def any_other_end_of_an_attempt_clears_the_mismatches(harness: Harness) -> None:
    ends: list[Callable[[Record], Settlement]] = [
        completed,
        lambda job: continued(job, next_job(job)),
        retrying,
        rescheduled,
        released,
        failed,
        cancelled,
        finally_mismatched,
    ]
    for end in ends:
        await harness.settled(mismatched(await harness.claimed(new_job("cleared")), delay=0))
        job = await harness.claim_one("cleared")

        await harness.settled(end(job))

        ended = await harness.job(job.id)
        assert (ended.mismatches, ended.mismatched_at) == (None, None)
        await harness.perform(CancelChains((job.chain_id,), None))


async def a_reap_clears_the_mismatches(harness: Harness) -> None:
    await harness.settled(mismatched(await harness.claimed()))
    job = await harness.claim_one()
    await harness.expire()

    [reaped] = await harness.reap(job.type)

    assert (reaped.record.mismatches, reaped.record.mismatched_at) == (None, None)
    assert await harness.job(job.id) == reaped.record


async def a_mismatched_job_can_be_run_now_cancelled_and_retried(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(mismatched(job, delay=60))

    [made_due] = await harness.perform(RunNow((job.id,)))
    [gone] = await harness.perform(CancelChains((job.chain_id,), None))
    [again] = await harness.perform(RetryJobs((job.id,)))

    assert (made_due.mismatches, made_due.scheduled_at) == (1, harness.clock())
    assert (gone.last.mismatches, gone.last.mismatched_at) == (None, None)
    assert (again.status, again.mismatches, again.mismatched_at) == (Status.PENDING, None, None)


async def a_mismatched_job_can_be_completed_from_outside(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(mismatched(job, delay=60))

    await harness.perform(Complete(job.chain_id, job.id, (Completion(output=b"1"),)))

    done = await harness.job(job.id)
    assert (done.status, done.mismatches, done.mismatched_at) == (Status.COMPLETED, None, None)


async def a_final_mismatch_fails_the_job_and_does_not_count_as_an_attempt(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    settlement = finally_mismatched(job)

    await harness.settled(settlement)

    ended = await harness.job(job.id)
    assert (ended.status, ended.attempt, ended.error) == (Status.FAILED, 0, settlement.error)
    assert ended.finished_at == harness.clock()


async def a_final_mismatch_fails_the_jobs_that_wait_for_the_chain(harness: Harness) -> None:
    first = await harness.started()
    await harness.start(new_job("later", id="waiting", after=(first.id,), on_blocker_failure="fail"))
    job = await harness.claim_one()

    await harness.settled(finally_mismatched(job))

    assert (await harness.job("waiting")).status is Status.FAILED


async def a_mismatch_that_is_sent_twice_counts_once(harness: Harness) -> None:
    job = await harness.claimed()
    settlement = mismatched(job, delay=5)
    await harness.settled(settlement)

    assert await harness.settle(settlement) == [Settled()]

    waiting = await harness.job(job.id)
    assert (waiting.attempt, waiting.mismatches) == (0, 1)
    assert len(await harness.past(job.id)) == 1


async def a_late_mismatch_is_ignored(harness: Harness) -> None:
    stale = await harness.claimed()
    await harness.expire()
    await harness.reap(stale.type)
    held = await harness.claim_one()

    [answer] = await harness.settle(mismatched(stale))

    assert answer == Settled(lost="taken_by_another_worker")
    assert await harness.job(held.id) == held


async def the_history_lists_each_mismatch(harness: Harness) -> None:
    job = await harness.claimed(worker="old")
    harness.clock.advance(1)
    settlement = mismatched(job, delay=5)
    await harness.settled(settlement)
    first = harness.clock()
    harness.clock.advance(5)
    again = await harness.claim_one(worker="older")
    await harness.settled(finally_mismatched(again))

    past = await harness.past(job.id)

    assert [(each.number, each.worker, each.outcome) for each in past] == [
        (1, "old", "mismatched"),
        (1, "older", "mismatched"),
    ]
    assert (past[0].ended_at, past[0].error, past[0].next_at) == (first, settlement.error, first + 5 * SECOND)
    assert past[1].next_at is None


async def a_mismatch_is_recorded_as_an_event(harness: Harness) -> None:
    after = await harness.perform(Listen("listener", 60 * SECOND))
    job = await harness.claimed(worker="old")
    await harness.settled(mismatched(job))
    await harness.settled(finally_mismatched(await harness.claim_one(worker="old")))

    kinds = [event.kind for event in await harness.perform(ReadEvents(after, 100))]

    assert kinds == ["created", "claimed", "mismatched", "claimed", "failed"]


async def several_outcomes_in_one_operation_do_not_affect_each_other(harness: Harness) -> None:
    jobs = [await harness.claimed() for _ in range(5)]
    one, two, three, four, five = jobs

    answers = await harness.settle(
        mismatched(one, delay=1), retrying(two, delay=2), released(three), completed(four),
        replace(finally_mismatched(five), keep=7 * SECOND),
    )  # fmt: skip

    assert answers == [Settled()] * 5
    now = [await harness.job(job.id) for job in jobs]
    assert [job.status for job in now] == [
        Status.PENDING, Status.PENDING, Status.PENDING, Status.COMPLETED, Status.FAILED
    ]  # fmt: skip
    assert [job.attempt for job in now] == [0, 1, 0, 1, 0]
    assert [job.mismatches for job in now] == [1, None, None, None, None]
    assert now[4].keep == 7 * SECOND
