"""Blockers: chains that must complete before a job may start."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.record import Record, Status
from holdfast.engine.operations import CancelChains, Complete, Completion, GetBlockers, GetDependents, RetryJobs
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def a_job_with_an_open_blocker_is_blocked(harness: Harness) -> None:
    done, pending = await harness.completed(), await harness.started(new_job("other"))

    job = await harness.started(new_job(after=(done.id, pending.id)))

    assert (job.status, job.blockers, job.open_blockers) == (Status.BLOCKED, 2, 1)
    assert await harness.claim() == []


async def a_job_whose_blockers_are_all_completed_is_due(harness: Harness) -> None:
    done = await harness.completed()

    job = await harness.started(new_job(after=(done.id,)))

    assert (job.status, job.blockers, job.open_blockers) == (Status.PENDING, 1, 0)


async def the_completion_of_the_last_blocker_unblocks_the_job_atomically(harness: Harness) -> None:
    one, two = await _two_blockers(harness)
    job = await harness.started(new_job(after=(one.id, two.id)))

    assert (await harness.settled(completed(two))).unblocked == ()
    assert (await harness.job(job.id)).open_blockers == 1
    assert (await harness.settled(completed(one))).unblocked == ((job.id, "resize"),)

    free = await harness.job(job.id)
    assert (free.status, free.open_blockers, free.blockers) == (Status.PENDING, 0, 2)


async def one_settle_of_all_blockers_unblocks_the_job_once(harness: Harness) -> None:
    one, two = await _two_blockers(harness)
    job = await harness.started(new_job(after=(one.id, two.id)))

    answers = await harness.settle(completed(one), completed(two))

    assert [answer.unblocked for answer in answers] == [(), ((job.id, "resize"),)]


async def one_blocker_unblocks_all_jobs_that_wait_only_for_it(harness: Harness) -> None:
    one, two = await _two_blockers(harness)
    alone = [await harness.started(new_job(after=(one.id,))) for _ in range(20)]
    both = await harness.started(new_job(after=(one.id, two.id)))

    answer = await harness.settled(completed(one))

    assert sorted(answer.unblocked) == sorted((job.id, "resize") for job in alone)
    assert (await harness.job(both.id)).status is Status.BLOCKED


async def a_blocker_counts_only_when_its_whole_chain_is_completed(harness: Harness) -> None:
    first = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(first.id,)))

    await harness.settled(continued(first, next_job(first, "other")))
    assert (await harness.job(job.id)).status is Status.BLOCKED

    await harness.settled(completed(await harness.claim_one("other")))
    assert (await harness.job(job.id)).status is Status.PENDING


async def the_same_blocker_twice_is_waited_for_once(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id, blocker.id)))
    assert (job.status, job.blockers) == (Status.BLOCKED, 2)

    answer = await harness.settled(completed(blocker))

    assert answer.unblocked == ((job.id, "resize"),)
    [found] = await harness.perform(GetBlockers((job.id,)))
    assert [chain.first.id for chain in found] == [blocker.id, blocker.id]


async def a_job_with_three_hundred_blockers_waits_for_all(harness: Harness) -> None:
    jobs = [new_job("other") for _ in range(300)]
    await harness.start(*jobs)
    job = await harness.started(new_job(after=tuple(blocker.id for blocker in jobs)))
    assert (job.blockers, job.open_blockers) == (300, 300)
    blockers = await harness.claim("other", limit=300)

    await harness.settle(*[completed(blocker) for blocker in blockers[:-1]])
    assert (await harness.job(job.id)).open_blockers == 1
    answer = await harness.settled(completed(blockers[-1]))

    assert answer.unblocked == ((job.id, "resize"),)
    [found] = await harness.perform(GetBlockers((job.id,)))
    assert [chain.first.id for chain in found] == [blocker.id for blocker in jobs]


async def an_unblocked_job_keeps_a_due_time_in_the_future(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,), delay=60))
    harness.clock.advance(10)

    await harness.settled(completed(blocker))

    free = await harness.job(job.id)
    assert (free.status, free.scheduled_at) == (Status.PENDING, job.scheduled_at)
    assert await harness.claim() == []
    harness.clock.advance(50)
    assert (await harness.claim_one()).id == job.id


async def a_job_that_was_blocked_after_its_due_time_is_due_from_the_unblocking(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,), delay=5))
    harness.clock.advance(10)

    await harness.settled(completed(blocker))

    assert (await harness.job(job.id)).scheduled_at == harness.clock()


async def a_completion_from_outside_unblocks_too(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))

    answer = await harness.perform(Complete(blocker.id, blocker.id, (Completion(output=b"1"),)))

    assert answer.unblocked == ((job.id, "resize"),)
    assert (await harness.claim_one()).id == job.id


async def a_job_stays_blocked_if_its_blocker_fails_or_is_cancelled(harness: Harness) -> None:
    one, two = await _two_blockers(harness)
    job = await harness.started(new_job(after=(one.id, two.id)))

    await harness.settled(failed(one))
    await harness.perform(CancelChains((two.id,)))

    assert await harness.job(job.id) == job


async def a_blocker_that_is_retried_and_completed_unblocks_the_job(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    await harness.settled(failed(blocker))
    job = await harness.started(new_job(after=(blocker.id,)))
    assert job.status is Status.BLOCKED

    await harness.perform(RetryJobs((blocker.id,)))
    await harness.settled(completed(await harness.claim_one("other")))

    assert (await harness.job(job.id)).status is Status.PENDING


async def a_cancelled_job_is_not_unblocked(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,)))
    await harness.perform(CancelChains((job.id,)))

    answer = await harness.settled(completed(blocker))

    assert answer.unblocked == ()
    assert (await harness.job(job.id)).status is Status.CANCELLED


async def the_blockers_of_several_jobs_are_returned_for_each_in_the_given_order(harness: Harness) -> None:
    one, two = [await harness.started(new_job("other")) for _ in range(2)]
    both = await harness.started(new_job(after=(two.id, one.id)))
    first = await harness.started(new_job(after=(one.id,)))

    found = await harness.perform(GetBlockers((first.id, both.id, one.id, first.id)))

    assert [[chain.first.id for chain in chains] for chains in found] == [[one.id], [two.id, one.id], [], [one.id]]


async def the_blockers_of_a_job_are_returned_in_the_given_order(harness: Harness) -> None:
    one, two, three = [await harness.started(new_job("other")) for _ in range(3)]
    job = await harness.started(new_job(after=(three.id, one.id, two.id)))
    await harness.settled(completed(await harness.claim_one("other"), b"1"))

    [chains] = await harness.perform(GetBlockers((job.id,)))

    assert [chain.first.id for chain in chains] == [three.id, one.id, two.id]
    assert [chain.last.output for chain in chains] == [None, b"1", None]


async def the_dependents_of_a_chain_are_its_unfinished_jobs_in_order(harness: Harness) -> None:
    one, two = await _two_blockers(harness)
    first = await harness.started(new_job("first", after=(one.id, one.id)))
    second = await harness.started(new_job("second", after=(two.id, one.id)))
    third = await harness.started(new_job("third", after=(one.id,)))

    async def dependents(limit: int) -> list[str]:
        return [job.id for job in await harness.perform(GetDependents(one.id, limit))]

    assert await dependents(10) == [first.id, second.id, third.id]
    assert await dependents(2) == [first.id, second.id]
    await harness.perform(CancelChains((second.id,)))
    await harness.settle(completed(one))
    assert await dependents(10) == [first.id, third.id]
    (claimed,) = await harness.claim("first")
    await harness.settle(completed(claimed))
    assert await dependents(10) == [third.id]
    assert await harness.perform(GetDependents("unknown", 10)) == []


async def two_blockers_that_complete_at_the_same_time_unblock_their_dependent(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(20):
        one, two = await _two_blockers(harness)
        job = await harness.started(new_job(after=(one.id, two.id)))

        answers = await harness.race([harness.settle(completed(one)), other.settle(completed(two))])

        unblocked = sorted(answer[0].unblocked for answer in answers if isinstance(answer, list))
        assert unblocked == [(), ((job.id, "resize"),)]
        assert (await harness.job(job.id)).status is Status.PENDING


async def many_blockers_that_complete_at_the_same_time_unblock_exactly_once(harness: Harness) -> None:
    other = await harness.second_store()
    jobs = [new_job("other") for _ in range(64)]
    await harness.start(*jobs)
    job = await harness.started(new_job(after=tuple(blocker.id for blocker in jobs)))
    blockers = await harness.claim("other", limit=64)
    shares = [blockers[number::8] for number in range(8)]

    answers = await harness.race(
        [
            g.settle(*[completed(blocker) for blocker in share])
            for share, g in zip(shares, [harness, other] * 4, strict=True)
        ]
    )

    unblocked = [
        one for answer in answers if isinstance(answer, list) for settled in answer for one in settled.unblocked
    ]
    assert unblocked == [(job.id, "resize")]
    assert (await harness.job(job.id)).open_blockers == 0


async def a_job_that_is_started_while_its_blocker_completes_is_unblocked(harness: Harness) -> None:
    other = await harness.second_store()
    for _ in range(20):
        blocker = await harness.claimed(new_job("other"))
        dependents = [new_job(after=(blocker.id,)) for _ in range(3)]
        starts = [g.start(job) for g, job in zip([harness, other, harness], dependents, strict=True)]

        await harness.race([starts[0], starts[1], other.settle(completed(blocker)), starts[2]])

        assert [(await harness.job(job.id)).status for job in dependents] == [Status.PENDING] * 3


async def a_time_in_the_past_becomes_the_current_time_for_a_blocked_job_too(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))

    job = await harness.started(new_job(after=(blocker.id,), at=harness.clock() - SECOND))

    assert job.scheduled_at == harness.clock()


async def _two_blockers(harness: Harness) -> tuple[Record, Record]:
    return await harness.claimed(new_job("other")), await harness.claimed(new_job("other"))
