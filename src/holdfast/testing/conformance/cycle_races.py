"""Dependency cycles that two callers would close at the same time: one of them is refused."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Guard,
    LockChain,
    RetryJobs,
    Settle,
    Settled,
    Start,
)
from holdfast.errors import Conflict, DependencyCycle, HoldfastError
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.builders import cycle_of, waiting_cycles
from holdfast.testing.conformance.harness import Harness


async def one_of_two_concurrent_continuations_that_wait_for_each_other_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(10):
        one, two = await harness.claimed(), await harness.claimed()

        await _check_one_refused(harness, await _continue_both(harness, other, one, two, after=(two, one)))


async def one_of_two_concurrent_continuations_that_close_a_longer_cycle_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(10):
        one, two = await harness.claimed(), await harness.claimed()
        after_one = await harness.started(new_job("wait", after=(one.id,)))
        after_two = await harness.started(new_job("wait", after=(two.id,)))

        # Neither names a chain that the other one writes to.
        answers = await _continue_both(harness, other, one, two, after=(after_two, after_one))
        await _check_one_refused(harness, answers)


async def a_concurrent_retry_or_continuation_that_closes_a_cycle_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(10):
        job = await harness.claimed()
        waiting = await harness.started(new_job("wait", after=(job.id,)))
        await harness.perform(CancelChains((waiting.id,)))

        retried, settled = await harness.race(
            [
                _retried(harness, waiting),
                other.settle(continued(job, next_job(job, "wait", after=(waiting.id,)))),
            ]
        )

        assert isinstance(settled, list)
        assert isinstance(retried, DependencyCycle) or cycle_of(settled[0]) == [job.id, waiting.id]
        assert await waiting_cycles(harness) == []
        await harness.settle(failed(job))


async def one_of_two_completions_from_outside_that_wait_for_each_other_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(10):
        one, two = await harness.started(), await harness.started()

        answers = await harness.race([_completing(harness, one, after=two), _completing(other, two, after=one)])

        await _check_one_cycle(harness, answers)


async def a_completion_from_outside_or_an_attempt_that_wait_for_each_other_is_refused(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(10):
        one, two = await harness.claimed(), await harness.started(new_job("other"))

        answers = await harness.race([_completing_attempt(harness, one, after=two), _completing(other, two, after=one)])

        await _check_one_cycle(harness, answers)


async def completions_from_outside_that_name_each_others_chains_without_a_cycle_all_succeed(
    harness: Harness,
) -> None:
    other = await harness.second_store()
    for _ in range(10):
        one, two = await harness.started(), await harness.started()
        third = await harness.started(new_job("third"))

        answers = await harness.race(
            [_completing(harness, one, after=third), _completing(other, two, after=one), _ending(harness, third)]
        )

        assert answers == [None, None, None]
        assert [(await harness.chain(each.id)).last.status for each in (one, two)] == [Status.PENDING, Status.BLOCKED]


async def two_attempts_that_start_chains_after_each_others_chain_succeed_or_one_has_to_be_repeated(
    harness: Harness,
) -> None:
    """There is no cycle. A store that locks rows may find a deadlock, and then it says so."""
    other = await harness.second_store()
    one, two = await harness.claimed(), await harness.claimed()

    answers = await harness.race([_starting(harness, one, after=two), _starting(other, two, after=one)])

    for job, named, answer in ((one, two, answers[0]), (two, one, answers[1])):
        if answer is not None:
            assert isinstance(answer, Conflict), answer
            await _starting(harness, job, after=named)
    sides = await harness.claim("side", limit=10)
    assert [(await harness.job(job.id)).status for job in (one, two)] == [Status.COMPLETED] * 2
    assert len(sides) == 2


async def _starting(harness: Harness, job: Record, *, after: Record) -> None:
    """An attempt that starts a chain after another chain, and completes its job."""
    tx = await harness.begin()
    try:
        await tx.perform(Guard(job.claim))
        await tx.perform(Start((new_job("side", after=(after.chain_id,)),)))
        (settled,) = await tx.perform(Settle((completed(job),)))
        assert settled.written, settled
        await tx.commit()
    except BaseException:
        await tx.rollback()
        raise


async def _completing(harness: Harness, job: Record, *, after: Record) -> None:
    """A block that completes the job, and continues its chain after another chain."""
    tx = await harness.begin()
    try:
        current = await tx.perform(LockChain(job.chain_id))
        following = next_job(current, "wait", after=(after.chain_id,))
        await tx.perform(Complete(job.chain_id, current.id, (Completion(continuation=following),)))
        await tx.commit()
    except BaseException:
        await tx.rollback()
        raise


async def _ending(harness: Harness, job: Record) -> None:
    """A block that completes the job, and ends its chain."""
    tx = await harness.begin()
    current = await tx.perform(LockChain(job.chain_id))
    await tx.perform(Complete(job.chain_id, current.id, (Completion(output=b"1"),)))
    await tx.commit()


async def _completing_attempt(harness: Harness, job: Record, *, after: Record) -> None:
    """An attempt that completes its job in its transaction, and continues its chain after another chain."""
    tx = await harness.begin()
    try:
        await tx.perform(Guard(job.claim))
        following = next_job(job, "wait", after=(after.chain_id,))
        (settled,) = await tx.perform(Settle((continued(job, following),)))
        if settled.refused is not None:
            raise settled.refused
        await tx.commit()
    except BaseException:
        await tx.rollback()
        raise


async def _check_one_cycle(harness: Harness, answers: Sequence[HoldfastError | None]) -> None:
    """One of the two succeeded, and the other one was refused with the cycle and has written nothing."""
    (refused,) = [answer for answer in answers if answer is not None]
    assert isinstance(refused, DependencyCycle), refused
    written = [chain_id for chain_id in refused.chain_ids if (await harness.chain(chain_id)).last.index == 1]
    assert (len(refused.chain_ids), len(written)) == (2, 1)
    assert await waiting_cycles(harness) == []
    for chain_id in refused.chain_ids:  # no lock is left: both chains can be changed
        await harness.perform(CancelChains((chain_id,)))


async def _continue_both(
    harness: Harness, other: Harness, one: Record, two: Record, *, after: tuple[Record, Record]
) -> Sequence[list[Settled] | HoldfastError]:
    """Continue both jobs at the same time, each after the chain at its place in `after`."""
    return await harness.race(
        [
            harness.settle(continued(one, next_job(one, "wait", after=(after[0].id,)))),
            other.settle(continued(two, next_job(two, "wait", after=(after[1].id,)))),
        ]
    )


async def _check_one_refused(harness: Harness, answers: Sequence[list[Settled] | HoldfastError]) -> None:
    settled = [answer[0] for answer in answers if isinstance(answer, list)]
    assert [answer.lost for answer in settled] == [None, None], answers
    assert sum(isinstance(answer.refused, DependencyCycle) for answer in settled) == 1
    assert await waiting_cycles(harness) == []


async def _retried(harness: Harness, job: Record) -> list[Settled]:
    await harness.perform(RetryJobs((job.id,)))
    return []
