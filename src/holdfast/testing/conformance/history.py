"""Histories: a row for each attempt that did not end its job well, and for no other."""

from __future__ import annotations

from collections.abc import Callable

from holdfast import failure
from holdfast.clock import SECOND
from holdfast.lifecycle import Settlement
from holdfast.operations import Cancel, Complete, GetHistory, PastAttempt, RetryJobs, Step
from holdfast.record import Record
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
from holdfast.testing.conformance.ground import Ground


async def a_job_that_went_well_has_no_past_attempts(ground: Ground) -> None:
    waiting, done = await ground.started(new_job("other")), await ground.completed()
    moved_on = await ground.claimed()
    await ground.settled(continued(moved_on, next_job(moved_on)))

    for job in (waiting, done, await ground.job(moved_on.id)):
        assert await ground.perform(GetHistory(job.id)) == (job, [])


async def a_failed_attempt_is_kept_with_its_times_its_worker_and_its_error(ground: Ground) -> None:
    job = await ground.claimed(worker="w")
    ground.clock.advance(3)
    settlement = retrying(job, delay=10)

    await ground.settled(settlement)

    now = ground.clock()
    next_at = now + 10 * SECOND
    expected = PastAttempt(1, "w", job.started_at, now, "failed", settlement.error, next_at)
    assert await ground.past(job.id) == [expected]


async def every_way_to_end_badly_has_its_word(ground: Ground) -> None:
    now = ground.clock()
    moment = now + 5 * SECOND

    ways: tuple[tuple[Callable[[Record], Settlement], object], ...] = (
        (lambda job: rescheduled(job, at=moment), ("rescheduled", None, moment)),
        (released, ("released", None, now)),
        (failed, ("failed", failure.write("ValueError", "no luck"), None)),
        (cancelled, ("cancelled", failure.write("Cancel", "no longer wanted"), None)),
    )
    for settle, expected in ways:
        job = await ground.claimed()
        await ground.settled(settle(job))
        (past,) = await ground.past(job.id)
        assert (past.outcome, past.error, past.next_at) == expected
        await ground.perform(Cancel((job.id,)))


async def a_reaped_attempt_is_lost(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=2), worker="one")
    await ground.expire()
    first_end = ground.clock()
    await ground.reap()
    again = await ground.claim_one(worker="two")
    await ground.expire()
    await ground.reap()

    first, second = await ground.past(job.id)

    error = (await ground.job(job.id)).error
    assert second == PastAttempt(2, "two", again.started_at, ground.clock(), "lost", error, None)
    assert (first.number, first.worker, first.outcome) == (1, "one", "lost")
    assert (first.ended_at, first.next_at) == (first_end, first_end)


async def cancelling_ends_a_running_attempt_and_no_other(ground: Ground) -> None:
    reason = failure.write("Cancelled", "by hand")
    running, waiting = await ground.claimed(), await ground.started(new_job("other"))

    await ground.perform(Cancel((running.id, waiting.id), reason))

    now = ground.clock()
    assert await ground.past(running.id) == [
        PastAttempt(1, running.worker, running.started_at, now, "cancelled", reason, None)
    ]
    assert await ground.past(waiting.id) == []


async def a_completion_from_outside_ends_a_running_attempt_as_lost(ground: Ground) -> None:
    running, waiting = await ground.claimed(), await ground.started(new_job("other"))

    for job in (running, waiting):
        await ground.perform(Complete(job.id, job.id, (Step(output=b"1"),)))

    (past,) = await ground.past(running.id)
    assert (past.number, past.worker, past.outcome, past.next_at) == (1, running.worker, "lost", None)
    assert await ground.past(waiting.id) == []


async def past_attempts_are_in_the_order_they_ended(ground: Ground) -> None:
    job = await ground.claimed()
    for _ in range(4):
        await ground.settled(retrying(job))
        job = await ground.claim_one()
    await ground.settled(released(job))
    await ground.settled(completed(await ground.claim_one()))

    past = await ground.past(job.id)

    assert [(one.number, one.outcome) for one in past] == [
        (1, "failed"),
        (2, "failed"),
        (3, "failed"),
        (4, "failed"),
        (5, "released"),
    ]


async def a_retry_by_hand_keeps_what_was_before(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=1))
    await ground.settled(failed(job))
    await ground.perform(RetryJobs((job.id,)))
    await ground.settled(failed(await ground.claim_one()))

    assert [one.number for one in await ground.past(job.id)] == [1, 1]


async def a_lost_claim_leaves_no_row(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Cancel((job.id,)))

    await ground.settle(failed(job), retrying(job), released(job))

    assert [one.outcome for one in await ground.past(job.id)] == ["cancelled"]
