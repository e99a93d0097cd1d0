"""Settle: write the outcome of an attempt, each with its claim."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from holdfast.core import failure
from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import UNLIMITED, Record, Status
from holdfast.engine.operations import CancelChains, Settled
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


async def a_returned_value_completes_the_job(harness: Harness) -> None:
    job = await harness.claimed(worker="w")
    harness.clock.advance(3)

    assert await harness.settle(completed(job, b'"done"')) == [Settled()]

    done = await harness.job(job.id)
    assert (done.status, done.output, done.error) == (Status.COMPLETED, b'"done"', None)
    assert (done.started_at, done.finished_at) == (job.started_at, harness.clock())
    assert (done.worker, done.attempt) == ("w", 1)
    assert (done.token, done.leased_until, done.renewed_at) == (job.token, None, None)


async def outputs_are_kept_byte_by_byte(harness: Harness) -> None:
    for output in (b"", bytes(range(256)), b"9007199254740993", b"x" * 1_000_000):
        job = await harness.claimed()
        await harness.settled(completed(job, output))

        assert (await harness.job(job.id)).output == output


async def a_failed_attempt_with_attempts_left_returns_the_job_to_pending_after_the_delay(harness: Harness) -> None:
    job = await harness.claimed()
    settlement = retrying(job, delay=10, error="no luck")

    await harness.settled(settlement)

    waiting = await harness.job(job.id)
    assert (waiting.status, waiting.attempt, waiting.error) == (Status.PENDING, 1, settlement.error)
    assert waiting.scheduled_at == harness.clock() + 10 * SECOND
    assert (waiting.worker, waiting.token) == (None, job.token)
    assert (waiting.leased_until, waiting.renewed_at) == (None, None)
    assert waiting.finished_at is None


async def a_rescheduled_job_is_pending_until_the_given_time(harness: Harness) -> None:
    later, passed = await harness.claimed(), await harness.claimed()
    moment = harness.clock() + 77_000_001

    await harness.settled(rescheduled(later, at=moment))
    await harness.settled(rescheduled(passed, at=harness.clock() - SECOND))

    assert (await harness.job(later.id)).scheduled_at == moment
    assert (await harness.job(passed.id)).scheduled_at == harness.clock()


async def a_failed_or_cancelled_job_is_finished_with_its_error(harness: Harness) -> None:
    for settle, status in ((failed, Status.FAILED), (cancelled, Status.CANCELLED)):
        job = await harness.claimed()
        settlement = settle(job)

        await harness.settled(settlement)

        ended = await harness.job(job.id)
        assert (ended.status, ended.error, ended.output) == (status, settlement.error, None)
        assert (ended.finished_at, ended.attempt) == (harness.clock(), 1)
        assert (ended.worker, ended.token, ended.leased_until, ended.renewed_at) == (None, job.token, None, None)


async def a_released_attempt_does_not_count_and_the_job_keeps_its_position(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job, error="first"))
    again = await harness.claim_one()
    harness.clock.advance(5)

    await harness.settled(released(again))

    free = await harness.job(job.id)
    assert (free.status, free.attempt, free.scheduled_at) == (Status.PENDING, 1, again.scheduled_at)
    assert free.error == failure.write("ValueError", "first")
    assert (free.worker, free.token, free.leased_until, free.renewed_at) == (None, again.token, None, None)


async def a_settlement_may_replace_the_keep_time(harness: Harness) -> None:
    longer, same = await harness.claimed(new_job(keep=5)), await harness.claimed(new_job(keep=5))

    await harness.settle(replace(completed(longer), keep=60 * SECOND), completed(same))

    assert (await harness.job(longer.id)).keep == 60 * SECOND
    assert (await harness.job(same.id)).keep == 5 * SECOND


async def completion_clears_the_error_of_an_earlier_attempt(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job))

    await harness.settled(completed(await harness.claim_one()))

    assert (await harness.job(job.id)).error is None


async def a_job_without_a_limit_of_attempts_is_always_retried(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=UNLIMITED))
    for _ in range(30):
        await harness.settled(retrying(job))
        job = await harness.claim_one()

    assert (job.attempt, job.max_attempts) == (31, UNLIMITED)


async def settlements_with_lost_claims_write_nothing_and_do_not_affect_the_others(harness: Harness) -> None:
    jobs = [await harness.claimed() for _ in range(6)]
    await harness.perform(CancelChains((jobs[1].id, jobs[4].id)))

    answers = await harness.settle(
        completed(jobs[0]),
        completed(jobs[1]),
        retrying(jobs[2]),
        failed(jobs[3]),
        continued(jobs[4], next_job(jobs[4])),
        continued(jobs[5], next_job(jobs[5])),
    )

    assert [answer.lost for answer in answers] == [None, "cancelled", None, None, "cancelled", None]
    statuses = [(await harness.chain(job.id)).last.status for job in jobs]
    cancelled_ = Status.CANCELLED
    assert statuses == [Status.COMPLETED, cancelled_, Status.PENDING, Status.FAILED, cancelled_, Status.PENDING]


async def each_job_of_a_large_batch_gets_its_own_outcome(harness: Harness) -> None:
    await harness.start(*(new_job() for _ in range(100)))
    jobs = await harness.claim(limit=100)
    lost = {jobs[3].id, jobs[70].id}
    await harness.perform(CancelChains(tuple(lost)))
    dependent = await harness.started(new_job("gather", after=(jobs[10].id, jobs[50].id)))

    outcomes = [replace(completed(job, str(n).encode()), keep=n) for n, job in enumerate(jobs)]
    answers = await harness.settle(*outcomes)

    assert [answer.lost for answer in answers] == ["cancelled" if job.id in lost else None for job in jobs]
    assert [answer.unblocked for answer in answers if answer.unblocked] == [((dependent.id, "gather"),)]
    for n, job in enumerate(jobs):
        found = await harness.job(job.id)
        if job.id in lost:
            assert (found.status, found.output) == (Status.CANCELLED, None)
        else:
            assert (found.status, found.output, found.keep) == (Status.COMPLETED, str(n).encode(), n)


async def the_first_of_two_settlements_of_one_claim_in_a_batch_is_written(harness: Harness) -> None:
    job = await harness.claimed()

    answers = await harness.settle(completed(job, b"1"), failed(job), completed(job, b"2"))

    assert [answer.lost for answer in answers] == [None, "already_completed", None]
    assert (await harness.job(job.id)).output == b"1"


async def a_settlement_that_is_sent_again_returns_the_first_result_and_writes_nothing(harness: Harness) -> None:
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
        settlement = build(await harness.claimed())
        await harness.settled(settlement)
        before, past = await harness.everything(), await harness.past(settlement.claim.job_id)
        harness.clock.advance(1)

        (again,) = await harness.settle(settlement)

        assert again.written
        assert await harness.everything() == before
        assert await harness.past(settlement.claim.job_id) == past


async def a_release_that_is_sent_again_does_not_change_the_attempt_again(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job))
    again = await harness.claim_one()

    answers = await harness.settle(released(again), released(again))

    assert [answer.written for answer in answers] == [True, True]
    assert (await harness.job(job.id)).attempt == 1


async def a_settlement_that_is_sent_again_after_the_next_claim_is_lost(harness: Harness) -> None:
    job = await harness.claimed()
    settlement = retrying(job)
    await harness.settled(settlement)
    again = await harness.claim_one()

    assert (await harness.settle(settlement))[0].lost == "taken_by_another_worker"
    await harness.settled(retrying(again))
    assert (await harness.settle(settlement))[0].lost == "taken_by_another_worker"


async def hundreds_of_attempts_are_settled_by_one_operation(harness: Harness) -> None:
    await harness.start(*[new_job() for _ in range(500)])
    jobs = await harness.claim(limit=500)

    answers = await harness.settle(*[completed(job, job.id.encode()) for job in jobs])

    assert answers == [Settled()] * 500
    assert all(job.output == job.id.encode() for job in await harness.everything())


async def an_empty_settle_returns_nothing(harness: Harness) -> None:
    assert await harness.settle() == []


async def one_of_two_concurrent_settlements_of_one_claim_is_lost(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(20):
        job = await harness.claimed()

        answers = await harness.race([harness.settle(completed(job)), other.settle(failed(job))])

        lost = tuple(answer[0].lost for answer in answers if isinstance(answer, list))
        assert lost in ((None, "already_completed"), ("taken_by_another_worker", None))
        assert (await harness.job(job.id)).status is (Status.COMPLETED if lost[0] is None else Status.FAILED)
        losers += 1
    assert losers == 20


async def one_settlement_that_is_sent_concurrently_is_written_once(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(5):
        job = await harness.claimed()
        settlement = continued(job, next_job(job, "publish"))

        answers = await harness.race([g.settle(settlement) for g in [harness, other] * 4])

        assert [answer[0].written for answer in answers if isinstance(answer, list)] == [True] * 8
        assert (await harness.chain(job.id)).last.index == 1
        assert len(await harness.claim("publish", limit=10)) == 1
