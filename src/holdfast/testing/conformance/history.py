"""History: one row for each attempt that did not complete its job."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core import failure
from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record
from holdfast.engine.operations import CancelChains, Complete, Completion, GetHistory, PastAttempt, RetryJobs
from holdfast.testing.builders import (
    cancelled,
    completed,
    continued,
    failed,
    new_job,
    next_job,
    released,
    rescheduled,
    retrying,
)
from holdfast.testing.conformance.harness import Harness


async def a_job_that_completed_at_once_has_no_past_attempts(harness: Harness) -> None:
    waiting, done = await harness.started(new_job("other")), await harness.completed()
    moved_on = await harness.claimed()
    await harness.settled(continued(moved_on, next_job(moved_on)))

    for job in (waiting, done, await harness.job(moved_on.id)):
        assert await harness.perform(GetHistory(job.id)) == (job, [])


async def a_failed_attempt_is_kept_with_its_times_its_worker_and_its_error(harness: Harness) -> None:
    job = await harness.claimed(worker="w")
    harness.clock.advance(3)
    settlement = retrying(job, delay=10)

    await harness.settled(settlement)

    now = harness.clock()
    next_at = now + 10 * SECOND
    expected = PastAttempt(1, "w", job.started_at, now, "failed", settlement.error, next_at)
    assert await harness.past(job.id) == [expected]


async def every_other_end_of_an_attempt_has_its_outcome(harness: Harness) -> None:
    now = harness.clock()
    moment = now + 5 * SECOND

    ways: tuple[tuple[Callable[[Record], Settlement], object], ...] = (
        (lambda job: rescheduled(job, at=moment), ("rescheduled", None, moment)),
        (released, ("released", None, now)),
        (failed, ("failed", failure.write("ValueError", "no luck"), None)),
        (cancelled, ("cancelled", failure.write("Cancel", "no longer wanted"), None)),
    )
    for settle, expected in ways:
        job = await harness.claimed()
        await harness.settled(settle(job))
        (past,) = await harness.past(job.id)
        assert (past.outcome, past.error, past.next_at) == expected
        await harness.perform(CancelChains((job.id,)))


async def a_reaped_attempt_is_lost(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=2), worker="one")
    await harness.expire()
    first_end = harness.clock()
    await harness.reap()
    again = await harness.claim_one(worker="two")
    await harness.expire()
    await harness.reap()

    first, second = await harness.past(job.id)

    error = (await harness.job(job.id)).error
    assert second == PastAttempt(2, "two", again.started_at, harness.clock(), "lost", error, None)
    assert (first.number, first.worker, first.outcome) == (1, "one", "lost")
    assert (first.ended_at, first.next_at) == (first_end, first_end)


async def a_cancel_adds_a_row_only_for_a_running_attempt(harness: Harness) -> None:
    reason = failure.write("Cancelled", "by hand")
    running, waiting = await harness.claimed(), await harness.started(new_job("other"))

    await harness.perform(CancelChains((running.id, waiting.id), reason))

    now = harness.clock()
    assert await harness.past(running.id) == [
        PastAttempt(1, running.worker, running.started_at, now, "cancelled", reason, None)
    ]
    assert await harness.past(waiting.id) == []


async def a_completion_from_outside_ends_a_running_attempt_as_lost(harness: Harness) -> None:
    running, waiting = await harness.claimed(), await harness.started(new_job("other"))

    for job in (running, waiting):
        await harness.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))

    (past,) = await harness.past(running.id)
    assert (past.number, past.worker, past.outcome, past.next_at) == (1, running.worker, "lost", None)
    assert await harness.past(waiting.id) == []


async def past_attempts_are_in_the_order_of_their_ends(harness: Harness) -> None:
    job = await harness.claimed()
    for _ in range(4):
        await harness.settled(retrying(job))
        job = await harness.claim_one()
    await harness.settled(released(job))
    await harness.settled(completed(await harness.claim_one()))

    past = await harness.past(job.id)

    assert [(one.number, one.outcome) for one in past] == [
        (1, "failed"),
        (2, "failed"),
        (3, "failed"),
        (4, "failed"),
        (5, "released"),
    ]


async def a_retry_keeps_the_past_attempts(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    await harness.settled(failed(job))
    await harness.perform(RetryJobs((job.id,)))
    await harness.settled(failed(await harness.claim_one()))

    assert [one.number for one in await harness.past(job.id)] == [1, 1]


async def a_settlement_with_a_lost_claim_adds_no_row(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(CancelChains((job.id,)))

    await harness.settle(failed(job), retrying(job), released(job))

    assert [one.outcome for one in await harness.past(job.id)] == ["cancelled"]
