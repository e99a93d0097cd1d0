"""Complete: end the current job of a chain from outside. Exactly one caller succeeds."""

from __future__ import annotations

from holdfast.core.ids import new_id
from holdfast.core.record import Record, Status
from holdfast.engine.operations import CancelChains, Complete, Completion, LockChain, Settled
from holdfast.errors import AlreadyCompleted, ChainNotFound, Conflict
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def a_pending_scheduled_blocked_or_running_job_is_completed(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    running = await harness.claimed()
    for job in (
        running,
        await harness.started(),
        await harness.started(new_job(delay=60)),
        await harness.started(new_job(after=(blocker.id,))),
    ):
        assert await harness.perform(_output(job, b'"theirs"')) == Settled()

        done = await harness.job(job.id)
        assert (done.status, done.output, done.error) == (Status.COMPLETED, b'"theirs"', None)
        assert (done.finished_at, done.attempt) == (harness.clock(), job.attempt)
        assert (done.worker, done.token, done.leased_until, done.renewed_at) == (None, None, None, None)
    assert await harness.claim(limit=10) == []


async def a_finished_chain_raises_already_completed(harness: Harness) -> None:
    done = await harness.completed()
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,)))
    before = await harness.everything()

    for job in (done, lost, dropped):
        error = await harness.refused(AlreadyCompleted, _output(job))
        assert error.chain_id == job.id

    assert await harness.everything() == before


async def a_job_that_is_no_longer_the_current_one_raises_already_completed(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job)))
    before = await harness.everything()

    await harness.refused(AlreadyCompleted, _output(job))

    assert await harness.everything() == before


async def an_unknown_chain_is_not_found(harness: Harness) -> None:
    unknown = new_id()

    completing = await harness.refused(ChainNotFound, Complete(unknown, unknown, (Completion(output=b"1"),)))
    locking = await harness.refused(ChainNotFound, LockChain(unknown))

    assert (completing.chain_id, locking.chain_id) == (unknown, unknown)


async def a_lock_returns_the_current_job_of_the_chain(harness: Harness) -> None:
    job = await harness.claimed()
    assert await harness.perform(LockChain(job.id)) == job

    second = next_job(job)
    await harness.settled(continued(job, second))
    assert (await harness.perform(LockChain(job.id))).id == second.id


async def a_continuation_from_outside_is_the_next_job_of_the_chain(harness: Harness) -> None:
    job = await harness.started()
    second = next_job(job, "ship", input=b"2", delay=5)

    await harness.perform(Complete(job.id, job.id, (Completion(continuation=second),)))

    first, last = await harness.chain(job.id)
    assert (first.status, first.output) == (Status.COMPLETED, None)
    assert (last.id, last.index, last.type, last.input) == (second.id, 1, "ship", b"2")
    assert last.status is Status.PENDING


async def a_continuation_from_outside_waits_for_its_blockers(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started()

    await harness.perform(Complete(job.id, job.id, (Completion(continuation=next_job(job, after=(blocker.id,))),)))

    assert (await harness.chain(job.id)).last.status is Status.BLOCKED
    await harness.settled(completed(blocker))
    assert (await harness.chain(job.id)).last.status is Status.PENDING


async def several_jobs_of_a_chain_are_completed_by_one_operation(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.claimed()
    waiting = await harness.started(new_job("wait", after=(job.id,)))
    second = next_job(job, "ship", after=(blocker.id,))
    third = next_job(second, "bill")
    completions = (Completion(continuation=second), Completion(continuation=third), Completion(output=b'"end"'))

    answer = await harness.perform(Complete(job.id, job.id, completions))

    assert answer.unblocked == ((waiting.id, "wait"),)
    first, last = await harness.chain(job.id)
    assert (last.id, last.index, last.status, last.output) == (third.id, 2, Status.COMPLETED, b'"end"')
    assert [first.status, (await harness.job(second.id)).status] == [Status.COMPLETED] * 2
    assert await harness.claim("ship", "bill", limit=10) == []


async def a_last_continuation_is_left_for_a_worker(harness: Harness) -> None:
    job = await harness.started()
    second = next_job(job, "ship")
    third = next_job(second, "bill")

    await harness.perform(Complete(job.id, job.id, (Completion(continuation=second), Completion(continuation=third))))

    assert [(await harness.claim_one("bill")).id] == [third.id]


async def an_unknown_blocker_of_any_continuation_refuses_the_operation(harness: Harness) -> None:
    job, unknown = await harness.claimed(), new_id()
    before = await harness.everything()
    second = next_job(job)
    completions = (Completion(continuation=second), Completion(continuation=next_job(second, after=(unknown,))))

    error = await harness.refused(ChainNotFound, Complete(job.id, job.id, completions))

    assert error.chain_id == unknown
    assert await harness.everything() == before
    await harness.settled(completed(job))


async def chains_started_with_a_completion_are_created_atomically_with_it(harness: Harness) -> None:
    job = await harness.started()
    side = new_job("side")
    completions = (Completion(continuation=next_job(job, after=(side.id,))),)

    await harness.perform(Complete(job.id, job.id, completions, starts=(side,), expected=(side.id,)))

    assert (await harness.job(side.id)).status is Status.PENDING
    assert (await harness.chain(job.id)).last.status is Status.BLOCKED


async def a_start_whose_result_differs_from_the_expected_chain_is_a_conflict(harness: Harness) -> None:
    job = await harness.claimed()
    side = new_job("side", key="k")
    await harness.start(new_job("side", key="k"))
    before = await harness.everything()

    await harness.refused(
        Conflict, Complete(job.id, job.id, (Completion(output=b"1"),), starts=(side,), expected=(side.id,))
    )

    assert await harness.everything() == before


async def exactly_one_of_many_concurrent_callers_completes_the_job(harness: Harness) -> None:
    other = await harness.second_store()
    losers = 0
    for _ in range(10):
        job = await harness.started()

        answers = await harness.race(
            [g.perform(_output(job, str(number).encode())) for number, g in enumerate([harness, other] * 4)]
        )

        (winner,) = [number for number, answer in enumerate(answers) if isinstance(answer, Settled)]
        assert (await harness.job(job.id)).output == str(winner).encode()
        losers += sum(isinstance(answer, AlreadyCompleted) for answer in answers)
    assert losers == 70


async def either_a_concurrent_caller_or_the_worker_completes_the_job(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(20):
        job = await harness.claimed()

        outside, worker = await harness.race([_outside(other, job), _inside(harness, job)])

        assert {outside, worker} == {"won", "lost"}
        expected = b'"outside"' if outside == "won" else b'"worker"'
        assert (await harness.job(job.id)).output == expected


async def _outside(harness: Harness, job: Record) -> str:
    try:
        await harness.perform(_output(job, b'"outside"'))
    except AlreadyCompleted:
        return "lost"
    return "won"


async def _inside(harness: Harness, job: Record) -> str:
    (answer,) = await harness.settle(completed(job, b'"worker"'))
    assert answer.lost in (None, "already_completed")
    return "won" if answer.lost is None else "lost"


def _output(job: Record, output: bytes = b"null") -> Complete:
    return Complete(job.chain_id, job.id, (Completion(output=output),))
