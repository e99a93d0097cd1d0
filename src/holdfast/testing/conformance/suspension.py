"""Suspension: an attempt ends because its handler sleeps or waits, and continues later with the same number."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.record import Record, Status
from holdfast.core.steps import NEVER, StepRow
from holdfast.engine.operations import (
    Audit,
    CancelChains,
    GetAudit,
    GetSteps,
    Listen,
    LostReason,
    NextDue,
    ReadEvents,
    RetryJobs,
    RunNow,
    SaveSteps,
    Settled,
)
from holdfast.testing.builders import (
    checkpoint,
    completed,
    failed,
    new_job,
    receive_of,
    released,
    retrying,
    sleep_for,
    suspended,
)
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order, rate


async def _steps(harness: Harness, job: Record) -> list[StepRow]:
    (rows,) = await harness.perform(GetSteps((job.id,)))
    return rows


async def a_suspended_job_is_pending_until_its_sleep_ends_and_uses_no_attempt(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=1))
    harness.clock.advance(3)

    assert await harness.settle(suspended(job, sleep_for("nap", 60))) == [Settled()]

    waiting, now = await harness.job(job.id), harness.clock()
    assert (waiting.status, waiting.attempt, waiting.error) == (Status.PENDING, 0, None)
    assert (waiting.scheduled_at, waiting.worker, waiting.token) == (now + 60 * SECOND, None, job.token)
    assert (waiting.leased_until, waiting.renewed_at, waiting.finished_at) == (None, None, None)
    assert await _steps(harness, job) == [StepRow("nap", "", "sleep", 1, 1, started_at=now, wake_at=now + 60 * SECOND)]
    assert await harness.claim() == []
    assert await harness.perform(NextDue(("resize",))) == 60 * SECOND
    harness.clock.advance(60)
    again = await harness.claim_one()
    assert (again.attempt, again.token != job.token) == (1, True)
    await harness.settled(completed(again))


async def a_suspension_is_part_of_the_history(harness: Harness) -> None:
    job = await harness.claimed()
    began = harness.clock()
    harness.clock.advance(3)

    await harness.settled(suspended(job, sleep_for("nap", 60)))

    (past,) = await harness.past(job.id)
    assert (past.number, past.worker, past.started_at, past.ended_at) == (1, "worker-1", began, harness.clock())
    assert (past.outcome, past.error, past.next_at) == ("suspended", None, harness.clock() + 60 * SECOND)


async def a_suspension_removes_the_error_of_an_earlier_attempt(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job))
    job = await harness.claim_one()

    await harness.settled(suspended(job, sleep_for("nap", 60)))

    waiting = await harness.job(job.id)
    assert (waiting.attempt, waiting.error) == (1, None)


async def the_first_of_several_waits_ends_the_suspension(harness: Harness) -> None:
    job = await harness.claimed()
    now = harness.clock()

    await harness.settled(
        suspended(job, sleep_for("long", 90, number=1), receive_of("label", 60, number=2), receive_of("x", number=3))
    )

    assert (await harness.job(job.id)).scheduled_at == now + 60 * SECOND
    assert [(row.name, row.kind, row.number, row.wake_at) for row in await _steps(harness, job)] == [
        ("long", "sleep", 1, now + 90 * SECOND),
        ("label", "receive", 2, now + 60 * SECOND),
        ("x", "receive", 3, None),
    ]


async def a_wait_keeps_its_first_end(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label", 60)))
    before = await _steps(harness, job)
    harness.clock.advance(60)
    again = await harness.claim_one()

    await harness.settled(suspended(again, receive_of("label", 600, number=7)))

    assert await _steps(harness, job) == before


async def a_wait_without_end_and_one_in_the_past(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, receive_of("label")))
    assert (await harness.job(job.id)).scheduled_at == NEVER

    job = await harness.claimed(new_job("other"))
    await harness.settled(suspended(job, sleep_for("past", -60)))
    assert (await harness.job(job.id)).scheduled_at == harness.clock()


async def a_stale_claim_does_not_suspend(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.expire()
    await harness.reap()
    before = await harness.job(job.id)

    (answer,) = await harness.settle(suspended(job, sleep_for("nap", 60)))

    assert answer.lost == "taken_by_another_worker"
    assert await harness.job(job.id) == before
    assert await _steps(harness, job) == []


async def a_suspension_that_is_sent_again_is_reported_as_written(harness: Harness) -> None:
    job = await harness.claimed()
    settlement = suspended(job, sleep_for("nap", 60))
    await harness.settled(settlement)
    before = await harness.job(job.id)
    harness.clock.advance(1)

    assert await harness.settle(settlement) == [Settled()]

    assert await harness.job(job.id) == before
    assert len(await harness.past(job.id)) == 1


async def run_now_ends_a_sleep(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(suspended(job, sleep_for("nap", 600), receive_of("label", number=2)))
    harness.clock.advance(5)

    (record,) = await harness.perform(RunNow((job.id,), Audit("ann")))

    assert record.scheduled_at == harness.clock()
    nap, label = await _steps(harness, job)
    assert (nap.finished_at, label.finished_at) == (harness.clock(), None)
    assert [entry.action for entry in await harness.perform(GetAudit(10))] == ["run_now"]
    assert (await harness.claim_one()).attempt == 1


async def a_suspended_job_releases_its_limit_and_acquires_it_again(harness: Harness) -> None:
    first, second = laned(limit(1)), laned(limit(1))
    await harness.start(first, second)
    (held,) = await harness.claim(limit=9)

    await harness.settled(suspended(held, sleep_for("nap", 60)))

    (other,) = await harness.claim(limit=9)
    assert (held.id, other.id) == (first.id, second.id)
    harness.clock.advance(60)
    assert await harness.claim(limit=9) == []
    await harness.settled(completed(other))
    assert [job.id for job in await harness.claim(limit=9)] == [first.id]


async def a_suspended_job_stays_at_the_front_of_its_order(harness: Harness) -> None:
    first, second = laned(order()), laned(order())
    await harness.start(first, second)
    (held,) = await harness.claim(limit=9)

    await harness.settled(suspended(held, sleep_for("nap", 60)))

    assert await harness.claim(limit=9) == []
    harness.clock.advance(60)
    (held,) = await harness.claim(limit=9)
    assert held.id == first.id
    await harness.settled(completed(held))
    assert [job.id for job in await harness.claim(limit=9)] == [second.id]


async def a_rate_does_not_count_the_attempt_again(harness: Harness) -> None:
    job = laned(rate(1, per=3600))
    await harness.start(job)
    held = await harness.claim_one()
    for _ in range(3):
        await harness.settled(suspended(held, sleep_for("nap", 60)))
        harness.clock.advance(60)
        held = await harness.claim_one()

    await harness.settled(released(held))
    assert (await harness.claim_one()).id == job.id


async def a_suspension_is_an_event(harness: Harness) -> None:
    await harness.perform(Listen("listener", 600 * SECOND))
    job = await harness.claimed()
    await harness.settled(suspended(job, sleep_for("nap", 60)))

    events = await harness.perform(ReadEvents(0, 100))

    assert [(event.kind, event.attempt) for event in events] == [("created", 0), ("claimed", 1), ("suspended", 0)]


async def a_job_fails_and_completes_after_a_suspension_as_before(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=2))
    await harness.settled(suspended(job, sleep_for("nap", 1)))
    harness.clock.advance(1)
    job = await harness.claim_one()
    await harness.settled(retrying(job))
    job = await harness.claim_one()
    assert job.attempt == 2
    await harness.settled(suspended(job, sleep_for("second", 1, number=2)))
    harness.clock.advance(1)
    job = await harness.claim_one()
    assert job.attempt == 2

    await harness.settled(failed(job))

    assert (await harness.job(job.id)).status is Status.FAILED
    assert [past.outcome for past in await harness.past(job.id)] == ["suspended", "failed", "suspended", "failed"]


async def steps_survive_a_suspension(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(SaveSteps((checkpoint(job, "charge", result=b"5"),)))
    await harness.settled(suspended(job, sleep_for("nap", 60, number=2)))

    assert [(row.name, row.result) for row in await _steps(harness, job)] == [("charge", b"5"), ("nap", None)]


ROUNDS = 20


async def a_cancel_that_meets_the_suspension_ends_the_job(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(ROUNDS):
        job = await harness.claimed()

        answers = await harness.race([_suspend(harness, job), _cancel(other, job)])

        assert answers[0] in (Settled(), Settled("cancelled"))
        assert (await harness.job(job.id)).status is Status.CANCELLED
        harness.clock.advance(60)
        assert await harness.claim() == []


async def a_retry_from_a_step_keeps_out_the_checkpoints_of_the_attempt_before(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(ROUNDS):
        job = await harness.claimed()
        await harness.perform(SaveSteps((checkpoint(job, "charge", number=1), checkpoint(job, "ship", number=2))))

        late = SaveSteps((checkpoint(job, "late", number=3),))
        answers = await harness.race([_cancel_and_retry(harness, job), _save(other, late)])

        # The late step was stored before the cancellation, and removed with the others, or refused.
        assert answers[1] in ([None], ["cancelled"], ["taken_by_another_worker"])
        assert await harness.perform(late) == ["taken_by_another_worker"]
        assert [row.name for row in await _steps(harness, job)] == ["charge"]
        await harness.settled(completed(await harness.claim_one()))


async def _suspend(harness: Harness, job: Record) -> Settled:
    (answer,) = await harness.settle(suspended(job, sleep_for("nap", 60)))
    return answer


async def _cancel(harness: Harness, job: Record) -> None:
    await harness.perform(CancelChains((job.chain_id,)))


async def _save(harness: Harness, steps: SaveSteps) -> list[LostReason | None] | None:
    return await harness.perform(steps)


async def _cancel_and_retry(harness: Harness, job: Record) -> None:
    await _cancel(harness, job)
    await harness.perform(RetryJobs((job.id,), from_step="ship"))
