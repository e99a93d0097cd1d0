"""Completing from outside: whoever runs the job, exactly one finishes it."""

from __future__ import annotations

from holdfast.errors import AlreadyCompleted, ChainNotFound, Conflict
from holdfast.ids import new_id
from holdfast.operations import Cancel, Complete, LockChain, Settled, Step
from holdfast.record import Record, Status
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def a_pending_scheduled_blocked_or_running_job_is_completed(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    running = await ground.claimed()
    for job in (
        running,
        await ground.started(),
        await ground.started(new_job(delay=60)),
        await ground.started(new_job(after=(blocker.id,))),
    ):
        assert await ground.perform(_output(job, b'"theirs"')) == Settled()

        done = await ground.job(job.id)
        assert (done.status, done.output, done.error) == (Status.COMPLETED, b'"theirs"', None)
        assert (done.finished_at, done.attempt) == (ground.clock(), job.attempt)
        assert (done.worker, done.token, done.leased_until, done.renewed_at) == (None, None, None, None)
    assert await ground.claim(limit=10) == []


async def a_chain_that_is_finished_in_any_way_is_already_completed(ground: Ground) -> None:
    done = await ground.completed()
    lost = await ground.claimed()
    await ground.settled(failed(lost))
    dropped = await ground.started()
    await ground.perform(Cancel((dropped.id,)))
    before = await ground.everything()

    for job in (done, lost, dropped):
        error = await ground.refused(AlreadyCompleted, _output(job))
        assert error.chain_id == job.id

    assert await ground.everything() == before


async def a_job_that_is_no_longer_the_current_one_is_already_completed(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.settled(continued(job, next_job(job)))
    before = await ground.everything()

    await ground.refused(AlreadyCompleted, _output(job))

    assert await ground.everything() == before


async def a_chain_that_is_gone_is_not_found(ground: Ground) -> None:
    gone = new_id()

    completing = await ground.refused(ChainNotFound, Complete(gone, gone, (Step(output=b"1"),)))
    locking = await ground.refused(ChainNotFound, LockChain(gone))

    assert (completing.chain_id, locking.chain_id) == (gone, gone)


async def locking_answers_the_chains_current_job(ground: Ground) -> None:
    job = await ground.claimed()
    assert await ground.perform(LockChain(job.id)) == job

    second = next_job(job)
    await ground.settled(continued(job, second))
    assert (await ground.perform(LockChain(job.id))).id == second.id


async def a_continuation_from_outside_is_the_chains_next_job(ground: Ground) -> None:
    job = await ground.started()
    second = next_job(job, "ship", input=b"2", delay=5)

    await ground.perform(Complete(job.id, job.id, (Step(continuation=second),)))

    first, last = await ground.chain(job.id)
    assert (first.status, first.output) == (Status.COMPLETED, None)
    assert (last.id, last.index, last.type, last.input) == (second.id, 1, "ship", b"2")
    assert last.status is Status.PENDING


async def a_continuation_from_outside_waits_for_its_blockers(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    job = await ground.started()

    await ground.perform(Complete(job.id, job.id, (Step(continuation=next_job(job, after=(blocker.id,))),)))

    assert (await ground.chain(job.id)).last.status is Status.BLOCKED
    await ground.settled(completed(blocker))
    assert (await ground.chain(job.id)).last.status is Status.PENDING


async def several_steps_go_in_one(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    job = await ground.claimed()
    waiting = await ground.started(new_job("wait", after=(job.id,)))
    second = next_job(job, "ship", after=(blocker.id,))
    third = next_job(second, "bill")
    steps = (Step(continuation=second), Step(continuation=third), Step(output=b'"end"'))

    answer = await ground.perform(Complete(job.id, job.id, steps))

    assert answer.unblocked == ((waiting.id, "wait"),)
    first, last = await ground.chain(job.id)
    assert (last.id, last.index, last.status, last.output) == (third.id, 2, Status.COMPLETED, b'"end"')
    assert [first.status, (await ground.job(second.id)).status] == [Status.COMPLETED] * 2
    assert await ground.claim("ship", "bill", limit=10) == []


async def steps_that_end_with_a_continuation_leave_it_to_a_worker(ground: Ground) -> None:
    job = await ground.started()
    second = next_job(job, "ship")
    third = next_job(second, "bill")

    await ground.perform(Complete(job.id, job.id, (Step(continuation=second), Step(continuation=third))))

    assert [(await ground.claim_one("bill")).id] == [third.id]


async def an_unknown_blocker_in_any_step_writes_nothing(ground: Ground) -> None:
    job, unknown = await ground.claimed(), new_id()
    before = await ground.everything()
    second = next_job(job)
    steps = (Step(continuation=second), Step(continuation=next_job(second, after=(unknown,))))

    error = await ground.refused(ChainNotFound, Complete(job.id, job.id, steps))

    assert error.chain_id == unknown
    assert await ground.everything() == before
    await ground.settled(completed(job))


async def chains_started_with_a_completion_are_created_in_the_same_step(ground: Ground) -> None:
    job = await ground.started()
    side = new_job("side")
    steps = (Step(continuation=next_job(job, after=(side.id,))),)

    await ground.perform(Complete(job.id, job.id, steps, starts=(side,), expected=(side.id,)))

    assert (await ground.job(side.id)).status is Status.PENDING
    assert (await ground.chain(job.id)).last.status is Status.BLOCKED


async def a_start_that_no_longer_does_what_was_promised_is_a_conflict(ground: Ground) -> None:
    job = await ground.claimed()
    side = new_job("side", key="k")
    await ground.start(new_job("side", key="k"))
    before = await ground.everything()

    await ground.refused(Conflict, Complete(job.id, job.id, (Step(output=b"1"),), starts=(side,), expected=(side.id,)))

    assert await ground.everything() == before


async def of_many_completers_at_once_exactly_one_wins(ground: Ground) -> None:
    other = await ground.second_store()
    losers = 0
    for _ in range(10):
        job = await ground.started()

        answers = await ground.race(
            [g.perform(_output(job, str(number).encode())) for number, g in enumerate([ground, other] * 4)]
        )

        (winner,) = [number for number, answer in enumerate(answers) if isinstance(answer, Settled)]
        assert (await ground.job(job.id)).output == str(winner).encode()
        losers += sum(isinstance(answer, AlreadyCompleted) for answer in answers)
    assert losers == 70


async def of_a_completer_and_the_worker_at_once_exactly_one_wins(ground: Ground) -> None:
    other = await ground.second_store()
    for _ in range(20):
        job = await ground.claimed()

        outside, worker = await ground.race([_outside(other, job), _inside(ground, job)])

        assert {outside, worker} == {"won", "lost"}
        expected = b'"outside"' if outside == "won" else b'"worker"'
        assert (await ground.job(job.id)).output == expected


async def _outside(ground: Ground, job: Record) -> str:
    try:
        await ground.perform(_output(job, b'"outside"'))
    except AlreadyCompleted:
        return "lost"
    return "won"


async def _inside(ground: Ground, job: Record) -> str:
    (answer,) = await ground.settle(completed(job, b'"worker"'))
    assert answer.lost in (None, "already_completed")
    return "won" if answer.lost is None else "lost"


def _output(job: Record, output: bytes = b"null") -> Complete:
    return Complete(job.chain_id, job.id, (Step(output=output),))
