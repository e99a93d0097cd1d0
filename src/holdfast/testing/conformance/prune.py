"""Pruning: finished chains go when their time is over, oldest first."""

from __future__ import annotations

from holdfast.operations import Cancel, GetBlockers, GetChains, Prune, RetryJobs
from holdfast.record import Record, Status
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def a_finished_chain_is_kept_for_its_time_and_not_longer(ground: Ground) -> None:
    job = await ground.completed(new_job(keep=60))

    ground.clock.advance(59.999999)
    assert await ground.perform(Prune(10)) == []
    ground.clock.advance(0.000001)
    assert await ground.perform(Prune(10)) == [job.id]

    assert await ground.everything() == []
    assert await ground.perform(Prune(10)) == []


async def failed_and_cancelled_chains_are_pruned_too(ground: Ground) -> None:
    lost = await ground.claimed(new_job(keep=60))
    await ground.settled(failed(lost))
    dropped = await ground.started(new_job(keep=60))
    ground.clock.advance(1)
    await ground.perform(Cancel((dropped.id,)))
    ground.clock.advance(60)

    assert await ground.perform(Prune(10)) == [lost.id, dropped.id]


async def the_time_counts_from_the_end_of_the_chain(ground: Ground) -> None:
    job = await ground.claimed(new_job(keep=60))
    ground.clock.advance(3600)
    assert await ground.perform(Prune(10)) == []
    await ground.settled(completed(job))
    ground.clock.advance(59)

    assert await ground.perform(Prune(10)) == []


async def without_a_time_a_chain_is_kept_for_ever(ground: Ground) -> None:
    await ground.completed(new_job(keep=None))
    ground.clock.advance(100 * 365 * 24 * 3600)

    assert await ground.perform(Prune(10)) == []


async def a_time_of_nothing_keeps_nothing(ground: Ground) -> None:
    job = await ground.completed(new_job(keep=0))

    assert await ground.perform(Prune(10)) == [job.id]


async def unfinished_chains_are_never_pruned(ground: Ground) -> None:
    await ground.start(new_job(keep=0, delay=10**8), new_job("other", keep=0))
    job = await ground.claim_one("other")
    await ground.settled(continued(job, next_job(job, "last", keep=0, delay=10**8)))
    ground.clock.advance(10**6)

    assert await ground.perform(Prune(10)) == []
    assert len(await ground.everything()) == 3


async def a_chain_goes_whole_by_the_time_of_its_last_job(ground: Ground) -> None:
    short = await ground.claimed(new_job(keep=None))
    await ground.settled(continued(short, next_job(short, "last", keep=10)))
    await ground.settled(completed(await ground.claim_one("last")))
    long = await ground.claimed(new_job(keep=10))
    await ground.settled(continued(long, next_job(long, "last", keep=None)))
    await ground.settled(completed(await ground.claim_one("last")))
    ground.clock.advance(3600)

    assert await ground.perform(Prune(10)) == [short.id]
    assert [job.chain_id for job in await ground.everything()] == [long.id, long.id]


async def a_retried_chain_is_not_pruned_by_its_earlier_end(ground: Ground) -> None:
    later, at_once = await ground.claimed(new_job(keep=10)), await ground.claimed(new_job(keep=0))
    for job in (later, at_once):
        await ground.settled(failed(job))
        await ground.perform(RetryJobs((job.id,)))
    assert await ground.perform(Prune(10)) == []

    ground.clock.advance(20)
    assert await ground.perform(Prune(10)) == []
    again = await ground.claim(limit=2)
    await ground.settle(*[completed(job) for job in again])
    ground.clock.advance(5)
    assert await ground.perform(Prune(10)) == [at_once.id]
    ground.clock.advance(5)
    assert await ground.perform(Prune(10)) == [later.id]


async def the_oldest_are_pruned_first_up_to_the_limit(ground: Ground) -> None:
    jobs: list[Record] = []
    for _ in range(5):
        jobs.append(await ground.completed(new_job(keep=60)))
        ground.clock.advance(1)
    ground.clock.advance(60)

    assert await ground.perform(Prune(2)) == [jobs[0].id, jobs[1].id]
    assert await ground.perform(Prune(2)) == [jobs[2].id, jobs[3].id]
    assert await ground.perform(Prune(2)) == [jobs[4].id]


async def a_chain_that_an_unfinished_job_refers_to_stays(ground: Ground) -> None:
    blocker = await ground.completed(new_job("other", keep=1))
    job = await ground.claimed(new_job(after=(blocker.id,)))
    ground.clock.advance(60)

    assert await ground.perform(Prune(10)) == []
    await ground.settled(completed(job))
    assert await ground.perform(Prune(10)) == [blocker.id]


async def a_chain_that_an_unfinished_later_step_refers_to_stays(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other", keep=1))
    await ground.settled(failed(blocker))
    job = await ground.claimed()
    await ground.settled(continued(job, next_job(job, after=(blocker.id,))))
    ground.clock.advance(60)

    assert await ground.perform(Prune(10)) == []
    await ground.perform(Cancel((job.id,)))
    assert await ground.perform(Prune(10)) == [blocker.id]


async def chains_that_must_stay_do_not_keep_younger_ones(ground: Ground) -> None:
    held = [await ground.completed(new_job("other", keep=1)) for _ in range(3)]
    await ground.start(new_job("waits", delay=10**6, after=tuple(chain.id for chain in held)))
    free = await ground.completed(new_job(keep=1))
    ground.clock.advance(60)

    assert await ground.perform(Prune(1)) == [free.id]


async def a_chain_and_its_blockers_are_pruned_in_any_order(ground: Ground) -> None:
    early_blocker = await ground.completed(new_job("other", keep=1))
    late_blocker = await ground.completed(new_job("other", keep=100))
    job = await ground.completed(new_job(keep=10, after=(early_blocker.id, late_blocker.id)))

    ground.clock.advance(5)
    assert await ground.perform(Prune(10)) == [early_blocker.id]
    assert [chain.first.id for chain in await ground.perform(GetBlockers(job.id))] == [late_blocker.id]
    ground.clock.advance(10)
    assert await ground.perform(Prune(10)) == [job.id]
    ground.clock.advance(100)
    assert await ground.perform(Prune(10)) == [late_blocker.id]


async def of_many_that_prune_at_once_each_chain_is_pruned_once(ground: Ground) -> None:
    other = await ground.second_store()
    jobs = [await ground.completed(new_job(keep=1)) for _ in range(12)]
    ground.clock.advance(5)

    answers = await ground.race([g.perform(Prune(3)) for g in [ground, other] * 4])

    pruned = [chain_id for answer in answers if isinstance(answer, list) for chain_id in answer]
    assert sorted(pruned) == sorted(job.id for job in jobs)
    assert answers.count([]) == 4
    assert await ground.perform(GetChains(tuple(pruned))) == [None] * 12


async def what_is_pruned_takes_nothing_else_with_it(ground: Ground) -> None:
    short = await ground.completed(new_job(keep=1))
    long = await ground.completed(new_job(keep=3600))
    ground.clock.advance(2)

    assert await ground.perform(Prune(10)) == [short.id]
    assert (await ground.job(long.id)).status is Status.COMPLETED
