"""Steps: results of parts of a handler, stored under the claim of the attempt."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.details import epoch_of
from holdfast.core.failure import write
from holdfast.core.record import Record, Status
from holdfast.core.steps import Checkpoint, StepRow
from holdfast.engine.operations import (
    CancelChains,
    Delete,
    GetMessages,
    GetSteps,
    Guard,
    Prune,
    RetryJobs,
    SaveSteps,
    SendMessage,
)
from holdfast.errors import StepNotFound
from holdfast.testing.builders import (
    checkpoint,
    completed,
    continued,
    failed,
    new_job,
    next_job,
    receive_of,
    released,
    retrying,
    sleep_for,
    suspended,
)
from holdfast.testing.conformance.harness import Harness


async def _save(harness: Harness, *checkpoints: Checkpoint) -> None:
    assert await harness.perform(SaveSteps(checkpoints)) == [None] * len(checkpoints)


async def _steps(harness: Harness, job_id: str) -> list[StepRow]:
    (rows,) = await harness.perform(GetSteps((job_id,)))
    return rows


async def _names(harness: Harness, job_id: str) -> list[str]:
    return [row.name for row in await _steps(harness, job_id)]


async def steps_are_read_in_the_order_of_their_numbers_with_every_field(harness: Harness) -> None:
    job = await harness.claimed()
    harness.clock.advance(9)
    error = write("ValueError", "no luck")

    await _save(
        harness,
        checkpoint(job, "rows", kind="cursor", number=4, result=b"[17,null]", took=1, done=False),
        checkpoint(job, "charge", each='"a"', number=2, result=b'{"id": 9007199254740993}', took=2.5),
        checkpoint(job, "charge", each="7", number=3, result=None, error=error),
        checkpoint(job, "charge", number=1, result=b"[]"),
    )

    now = harness.clock()
    assert await _steps(harness, job.id) == [
        StepRow("charge", "", "step", 1, 1, 0, b"[]", None, now, now),
        StepRow("charge", '"a"', "step", 2, 1, 0, b'{"id": 9007199254740993}', None, now - 2_500_000, now),
        StepRow("charge", "7", "step", 3, 1, 0, None, error, now, now),
        StepRow("rows", "", "cursor", 4, 1, 0, b"[17,null]", None, now - SECOND, None),
    ]
    assert await harness.perform(GetSteps(("unknown", job.id))) == [[], await _steps(harness, job.id)]


async def a_completed_step_never_changes(harness: Harness) -> None:
    job = await harness.claimed()
    await _save(harness, checkpoint(job, "charge", result=b"1"))
    before = await _steps(harness, job.id)
    harness.clock.advance(1)

    await _save(harness, checkpoint(job, "charge", number=2, result=b"2"))
    await _save(harness, checkpoint(job, "charge", number=2, result=None, error=write("ValueError", "late")))

    assert await _steps(harness, job.id) == before


async def a_failed_step_and_the_position_of_a_cursor_are_replaced(harness: Harness) -> None:
    job = await harness.claimed()
    await _save(
        harness,
        checkpoint(job, "charge", result=None, error=write("ValueError", "no luck")),
        checkpoint(job, "rows", kind="cursor", number=2, result=b"[1,null]", done=False),
    )
    await harness.settled(retrying(job))
    again = await harness.claim_one()

    await _save(
        harness,
        checkpoint(again, "rows", kind="cursor", number=2, result=b"[2,null]", done=False),
        checkpoint(again, "charge", number=3, result=b"5"),
    )

    rows, charge = await _steps(harness, job.id)
    assert (rows.result, rows.finished_at, rows.attempt) == (b"[2,null]", None, 2)
    assert (charge.number, charge.result, charge.error, charge.attempt) == (3, b"5", None, 2)


async def a_position_that_arrives_late_replaces_no_newer_one(harness: Harness) -> None:
    job = await harness.claimed()
    await _save(harness, checkpoint(job, "rows", kind="cursor", number=1, result=b"[1,null]", done=False))
    await _save(harness, checkpoint(job, "rows", kind="cursor", number=2, result=b"[2,null]", done=False))

    await _save(harness, checkpoint(job, "rows", kind="cursor", number=1, result=b"[0,null]", done=False))

    (row,) = await _steps(harness, job.id)
    assert (row.number, row.result) == (2, b"[2,null]")


async def a_receive_that_timed_out_never_changes(harness: Harness) -> None:
    job = await harness.claimed()
    error = write("MessageTimeout", "late")
    await _save(harness, checkpoint(job, "label", kind="receive", result=None, error=error))

    await _save(harness, checkpoint(job, "label", kind="receive", result=b'"A"'))

    (row,) = await _steps(harness, job.id)
    assert (row.result, row.error) == (None, error)


async def a_stale_claim_stores_no_step_and_does_not_affect_the_others(harness: Harness) -> None:
    stale = await harness.claimed()
    await harness.expire()
    await harness.reap()
    again, other = await harness.claim_one(), await harness.claimed(new_job("other"))

    answers = await harness.perform(
        SaveSteps((checkpoint(stale, "charge"), checkpoint(other, "charge"), checkpoint(again, "next")))
    )

    assert answers == ["taken_by_another_worker", None, None]
    assert await _names(harness, stale.id) == ["next"]
    assert await _names(harness, other.id) == ["charge"]


async def a_checkpoint_says_why_its_claim_is_lost(harness: Harness) -> None:
    gone, done, dropped = [await harness.claimed() for _ in range(3)]
    await harness.perform(Delete((gone.id,)))
    await harness.settled(completed(done))
    await harness.perform(CancelChains((dropped.id,)))

    answers = await harness.perform(SaveSteps(tuple(checkpoint(job, "late") for job in (gone, done, dropped))))

    assert answers == ["not_found", "already_completed", "cancelled"]
    assert await harness.perform(GetSteps((gone.id, done.id, dropped.id))) == [[], [], []]


async def a_later_attempt_finds_the_steps_of_a_released_a_lost_and_a_failed_one(harness: Harness) -> None:
    job = await harness.claimed()
    await _save(harness, checkpoint(job, "one"))
    await harness.settled(released(job))
    job = await harness.claim_one()
    await _save(harness, checkpoint(job, "two", number=2))
    await harness.expire()
    await harness.reap()
    job = await harness.claim_one()
    await _save(harness, checkpoint(job, "three", number=3))
    await harness.settled(failed(job))

    await harness.perform(RetryJobs((job.id,)))

    assert await _names(harness, job.id) == ["one", "two", "three"]


async def a_checkpoint_in_a_transaction_commits_with_it(harness: Harness) -> None:
    job = await harness.claimed()
    tx = await harness.begin()
    await tx.perform(Guard(job.claim))
    assert await tx.perform(SaveSteps((checkpoint(job, "reserve", result=b"3"),))) == [None]
    await tx.commit()

    (row,) = await _steps(harness, job.id)
    assert (row.name, row.result, row.finished_at) == ("reserve", b"3", harness.clock())
    await harness.expire()
    await harness.reap()
    tx = await harness.begin()
    assert await tx.perform(SaveSteps((checkpoint(job, "late"),))) == ["taken_by_another_worker"]
    await tx.rollback()


async def steps_and_messages_are_deleted_with_the_chain(harness: Harness) -> None:
    first = await harness.claimed(new_job(keep=10))
    await _save(harness, checkpoint(first, "a"))
    await harness.settled(continued(first, next_job(first, keep=10)))
    last = await harness.claim_one("publish")
    await _save(harness, checkpoint(last, "b"))
    await harness.perform(SendMessage(first.id, "label", b"1"))
    other = await harness.claimed(new_job("other"))
    await _save(harness, checkpoint(other, "c"))
    await harness.perform(SendMessage(other.id, "label", b"2"))
    await harness.settled(completed(last))
    harness.clock.advance(11)

    assert await harness.perform(Prune(10)) == [first.id]
    assert await harness.perform(GetSteps((first.id, last.id))) == [[], []]
    assert await harness.perform(GetMessages(((first.id, "label"), (other.id, "label")))) == [None, b"2"]

    await harness.perform(Delete((other.id,)))
    await harness.start(new_job("other", id=other.id))
    assert await harness.perform(GetSteps((other.id,))) == [[]]
    assert await harness.perform(GetMessages(((other.id, "label"),))) == [None]


async def pruning_a_chain_whose_key_is_taken_removes_its_steps_and_messages(harness: Harness) -> None:
    job = await harness.claimed(new_job(keep=10, key="k", dedup="successful", dedup_for=100))
    await _save(harness, checkpoint(job, "a"))
    await harness.perform(SendMessage(job.id, "label", b"1"))
    await harness.settled(completed(job))
    harness.clock.advance(11)

    assert await harness.perform(Prune(10)) == []

    assert await _steps(harness, job.id) == []
    assert await harness.perform(GetMessages(((job.id, "label"),))) == [None]


async def _failed_with_steps(harness: Harness) -> Record:
    """A failed job with three steps, a received message between the last two, and one more message."""
    job = await harness.claimed()
    await _save(harness, checkpoint(job, "charge", each="1", number=1), checkpoint(job, "charge", each="2", number=2))
    await harness.perform(SendMessage(job.id, "label", b'"A"'))
    await harness.perform(SendMessage(job.id, "unused", b'"B"'))
    await harness.settled(suspended(job, receive_of("label", number=3)))
    job = await harness.claim_one()
    await _save(
        harness, checkpoint(job, "label", kind="receive", number=3, result=b'"A"'), checkpoint(job, "ship", number=4)
    )
    await harness.settled(suspended(job, sleep_for("nap", 60, number=5)))
    harness.clock.advance(60)
    job = await harness.claim_one()
    await harness.settled(failed(job))
    return await harness.job(job.id)


async def a_retry_from_a_step_removes_it_and_the_later_ones_and_their_messages(harness: Harness) -> None:
    job = await _failed_with_steps(harness)
    both = ((job.id, "label"), (job.id, "unused"))

    (retried,) = await harness.perform(RetryJobs((job.id,), from_step="ship"))

    assert (retried.status, retried.attempt, epoch_of(retried.details)) == (Status.PENDING, 0, 1)
    assert await _names(harness, job.id) == ["charge", "charge", "label"]
    assert await harness.perform(GetMessages(both)) == [b'"A"', b'"B"']

    again = await harness.claim_one()
    await harness.settled(failed(again))
    await harness.perform(RetryJobs((job.id,), from_step="charge"))

    assert await _names(harness, job.id) == []
    assert await harness.perform(GetMessages(both)) == [None, b'"B"']
    assert epoch_of((await harness.job(job.id)).details) == 2
    assert await harness.perform(SendMessage(job.id, "label", b'"C"'))


async def a_retry_from_a_step_keeps_the_other_details(harness: Harness) -> None:
    job = await harness.claimed(new_job(trace="00-trace"))
    await _save(harness, checkpoint(job, "charge"))
    await harness.settled(failed(job))

    (retried,) = await harness.perform(RetryJobs((job.id,), from_step="charge"))

    assert (retried.trace, epoch_of(retried.details)) == ("00-trace", 1)
    assert (await harness.claim_one()).details == retried.details


async def a_retry_from_an_unknown_step_changes_nothing(harness: Harness) -> None:
    job = await _failed_with_steps(harness)
    other = await harness.claimed(new_job("other"))
    await _save(harness, checkpoint(other, "ship"))
    await harness.settled(failed(other))
    before, steps = await harness.everything(), await _steps(harness, job.id)

    error = await harness.refused(StepNotFound, RetryJobs((other.id, job.id), from_step="unknown"))
    assert (error.job_id, error.name) == (other.id, "unknown")
    error = await harness.refused(StepNotFound, RetryJobs((other.id, job.id), from_step="charge"))
    assert (error.job_id, error.name) == (other.id, "charge")

    assert await harness.everything() == before
    assert await _steps(harness, job.id) == steps
    assert await _names(harness, other.id) == ["ship"]
