"""Settling: what an attempt leaves behind, each under its claim."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from holdfast import failure
from holdfast.clock import SECOND
from holdfast.lifecycle import Settlement
from holdfast.operations import Cancel, Settled
from holdfast.record import FOR_EVER, Record, Status
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


async def a_returned_value_completes_the_job(ground: Ground) -> None:
    job = await ground.claimed(worker="w")
    ground.clock.advance(3)

    assert await ground.settle(completed(job, b'"done"')) == [Settled()]

    done = await ground.job(job.id)
    assert (done.status, done.output, done.error) == (Status.COMPLETED, b'"done"', None)
    assert (done.started_at, done.finished_at) == (job.started_at, ground.clock())
    assert (done.worker, done.attempt) == ("w", 1)
    assert (done.token, done.leased_until, done.renewed_at) == (job.token, None, None)


async def outputs_come_back_as_the_bytes_they_were(ground: Ground) -> None:
    for output in (b"", bytes(range(256)), b"9007199254740993", b"x" * 1_000_000):
        job = await ground.claimed()
        await ground.settled(completed(job, output))

        assert (await ground.job(job.id)).output == output


async def a_failed_attempt_with_more_to_come_is_pending_after_its_delay(ground: Ground) -> None:
    job = await ground.claimed()
    settlement = retrying(job, delay=10, error="no luck")

    await ground.settled(settlement)

    waiting = await ground.job(job.id)
    assert (waiting.status, waiting.attempt, waiting.error) == (Status.PENDING, 1, settlement.error)
    assert waiting.scheduled_at == ground.clock() + 10 * SECOND
    assert (waiting.worker, waiting.token) == (None, job.token)
    assert (waiting.leased_until, waiting.renewed_at) == (None, None)
    assert waiting.finished_at is None


async def a_rescheduled_job_is_pending_at_the_time_it_chose(ground: Ground) -> None:
    later, passed = await ground.claimed(), await ground.claimed()
    moment = ground.clock() + 77_000_001

    await ground.settled(rescheduled(later, at=moment))
    await ground.settled(rescheduled(passed, at=ground.clock() - SECOND))

    assert (await ground.job(later.id)).scheduled_at == moment
    assert (await ground.job(passed.id)).scheduled_at == ground.clock()


async def a_failed_or_cancelled_job_is_finished_with_its_error(ground: Ground) -> None:
    for settle, status in ((failed, Status.FAILED), (cancelled, Status.CANCELLED)):
        job = await ground.claimed()
        settlement = settle(job)

        await ground.settled(settlement)

        ended = await ground.job(job.id)
        assert (ended.status, ended.error, ended.output) == (status, settlement.error, None)
        assert (ended.finished_at, ended.attempt) == (ground.clock(), 1)
        assert (ended.worker, ended.token, ended.leased_until, ended.renewed_at) == (None, job.token, None, None)


async def a_released_attempt_gives_its_number_back_and_keeps_the_job_in_its_place(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(retrying(job, error="first"))
    again = await ground.claim_one()
    ground.clock.advance(5)

    await ground.settled(released(again))

    free = await ground.job(job.id)
    assert (free.status, free.attempt, free.scheduled_at) == (Status.PENDING, 1, again.scheduled_at)
    assert free.error == failure.write("ValueError", "first")
    assert (free.worker, free.token, free.leased_until, free.renewed_at) == (None, again.token, None, None)


async def a_settlement_may_replace_the_keep_time(ground: Ground) -> None:
    longer, same = await ground.claimed(new_job(keep=5)), await ground.claimed(new_job(keep=5))

    await ground.settle(replace(completed(longer), keep=60 * SECOND), completed(same))

    assert (await ground.job(longer.id)).keep == 60 * SECOND
    assert (await ground.job(same.id)).keep == 5 * SECOND


async def completion_clears_the_error_of_an_earlier_attempt(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(retrying(job))

    await ground.settled(completed(await ground.claim_one()))

    assert (await ground.job(job.id)).error is None


async def a_job_without_end_is_tried_for_ever(ground: Ground) -> None:
    job = await ground.claimed(new_job(max_attempts=FOR_EVER))
    for _ in range(30):
        await ground.settled(retrying(job))
        job = await ground.claim_one()

    assert (job.attempt, job.max_attempts) == (31, FOR_EVER)


async def lost_claims_write_nothing_and_do_not_disturb_the_others(ground: Ground) -> None:
    jobs = [await ground.claimed() for _ in range(6)]
    await ground.perform(Cancel((jobs[1].id, jobs[4].id)))

    answers = await ground.settle(
        completed(jobs[0]),
        completed(jobs[1]),
        retrying(jobs[2]),
        failed(jobs[3]),
        continued(jobs[4], next_job(jobs[4])),
        continued(jobs[5], next_job(jobs[5])),
    )

    assert [answer.lost for answer in answers] == [None, "cancelled", None, None, "cancelled", None]
    statuses = [(await ground.chain(job.id)).last.status for job in jobs]
    cancelled_ = Status.CANCELLED
    assert statuses == [Status.COMPLETED, cancelled_, Status.PENDING, Status.FAILED, cancelled_, Status.PENDING]


async def of_two_settlements_of_one_claim_in_a_batch_the_first_counts(ground: Ground) -> None:
    job = await ground.claimed()

    answers = await ground.settle(completed(job, b"1"), failed(job), completed(job, b"2"))

    assert [answer.lost for answer in answers] == [None, "already_completed", None]
    assert (await ground.job(job.id)).output == b"1"


async def a_settlement_sent_again_is_answered_like_the_first_time_and_writes_nothing(ground: Ground) -> None:
    builds: tuple[Callable[[Record], Settlement], ...] = (
        completed,
        lambda job: continued(job, next_job(job)),
        lambda job: completed(job, starts=(new_job("side"),)),
        lambda job: retrying(job, delay=60),
        lambda job: rescheduled(job, delay=60),
        failed,
        cancelled,
    )
    for build in builds:
        settlement = build(await ground.claimed())
        await ground.settled(settlement)
        before, past = await ground.everything(), await ground.past(settlement.claim.job_id)
        ground.clock.advance(1)

        (again,) = await ground.settle(settlement)

        assert again.written
        assert await ground.everything() == before
        assert await ground.past(settlement.claim.job_id) == past


async def a_release_sent_again_does_not_give_another_number_back(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(retrying(job))
    again = await ground.claim_one()

    answers = await ground.settle(released(again), released(again))

    assert [answer.written for answer in answers] == [True, True]
    assert (await ground.job(job.id)).attempt == 1


async def a_settlement_sent_again_after_the_next_claim_is_lost(ground: Ground) -> None:
    job = await ground.claimed()
    settlement = retrying(job)
    await ground.settled(settlement)
    again = await ground.claim_one()

    assert (await ground.settle(settlement))[0].lost == "taken_by_another_worker"
    await ground.settled(retrying(again))
    assert (await ground.settle(settlement))[0].lost == "taken_by_another_worker"


async def hundreds_are_settled_in_one_step(ground: Ground) -> None:
    await ground.start(*[new_job() for _ in range(500)])
    jobs = await ground.claim(limit=500)

    answers = await ground.settle(*[completed(job, job.id.encode()) for job in jobs])

    assert answers == [Settled()] * 500
    assert all(job.output == job.id.encode() for job in await ground.everything())


async def settling_nothing_answers_nothing(ground: Ground) -> None:
    assert await ground.settle() == []


async def of_two_outcomes_of_one_claim_at_once_one_is_told_that_it_is_lost(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(20):
        job = await ground.claimed()

        answers = await ground.race([ground.settle(completed(job)), other.settle(failed(job))])

        lost = tuple(answer[0].lost for answer in answers if isinstance(answer, list))
        assert lost in ((None, "already_completed"), ("taken_by_another_worker", None))
        assert (await ground.job(job.id)).status is (Status.COMPLETED if lost[0] is None else Status.FAILED)
        losers += 1
    assert losers == 20


async def one_settlement_sent_by_many_at_once_is_written_once(ground: Ground) -> None:
    other = await ground.second_store()
    for _ in range(5):
        job = await ground.claimed()
        settlement = continued(job, next_job(job, "publish"))

        answers = await ground.race([g.settle(settlement) for g in [ground, other] * 4])

        assert [answer[0].written for answer in answers if isinstance(answer, list)] == [True] * 8
        assert (await ground.chain(job.id)).last.index == 1
        assert len(await ground.claim("publish", limit=10)) == 1
