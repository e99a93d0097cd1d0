"""Prune: delete finished chains whose keep time is over, oldest first."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Filter,
    GetBlockers,
    GetChains,
    GetHistory,
    Keep,
    ListChains,
    Prune,
    RetryJobs,
    Start,
)
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness


async def a_finished_chain_is_pruned_after_its_keep_time(harness: Harness) -> None:
    job = await harness.completed(new_job(keep=60))

    harness.clock.advance(59.999999)
    assert await harness.perform(Prune(10)) == []
    harness.clock.advance(0.000001)
    assert await harness.perform(Prune(10)) == [job.id]

    assert await harness.everything() == []
    assert await harness.perform(Prune(10)) == []


async def failed_and_cancelled_chains_are_pruned_too(harness: Harness) -> None:
    lost = await harness.claimed(new_job(keep=60))
    await harness.settled(failed(lost))
    dropped = await harness.started(new_job(keep=60))
    harness.clock.advance(1)
    await harness.perform(CancelChains((dropped.id,)))
    harness.clock.advance(60)

    assert await harness.perform(Prune(10)) == [lost.id, dropped.id]


async def the_keep_time_counts_from_the_end_of_the_chain(harness: Harness) -> None:
    job = await harness.claimed(new_job(keep=60))
    harness.clock.advance(3600)
    assert await harness.perform(Prune(10)) == []
    await harness.settled(completed(job))
    harness.clock.advance(59)

    assert await harness.perform(Prune(10)) == []


async def a_chain_whose_key_is_taken_for_longer_loses_its_payloads_and_is_not_deleted(harness: Harness) -> None:
    first = await harness.claimed(new_job(key="k", input=b'"secret"', keep=60, dedup_for=3600))
    await harness.settled(retrying(first))
    job = await harness.claim_one()
    await harness.settled(completed(job, b'"result"'))
    kept = Filter(chain_types=("resize",), key="k", kept=True)
    again = new_job(key="k", dedup="successful")
    harness.clock.advance(60)
    assert await harness.perform(ListChains(kept, limit=10)) == []

    assert await harness.perform(Prune(10)) == []
    assert await harness.perform(Prune(10)) == []

    cleared = await harness.job(job.id)
    assert (cleared.status, cleared.input, cleared.output, cleared.error) == (Status.COMPLETED, b"null", None, None)
    assert await harness.perform(GetHistory(job.id)) == (cleared, [])
    assert await harness.perform(ListChains(kept, limit=10)) == []
    assert await harness.perform(Keep((job.id,), 60 * SECOND)) == [None]
    (found,) = await harness.perform(Start((again,)))
    assert (found.chain.first.id, found.deduplicated) == (job.id, True)
    harness.clock.advance(3539.999999)
    assert await harness.perform(Prune(10)) == []
    harness.clock.advance(0.000001)
    assert await harness.perform(Prune(10)) == [job.id]
    assert await harness.everything() == []
    (made,) = await harness.perform(Start((again,)))
    assert not made.deduplicated


async def all_jobs_of_a_chain_whose_key_is_taken_for_longer_lose_their_payloads(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k", keep=60, dedup_for=3600))
    await harness.settled(continued(job, next_job(job, "last", input=b'"secret"', keep=60)))
    last = await harness.claim_one("last")
    await harness.settled(completed(last, b'"result"'))
    harness.clock.advance(60)

    assert await harness.perform(Prune(10)) == []
    assert [(each.input, each.output) for each in await harness.everything()] == [(b"null", None)] * 2
    harness.clock.advance(3540)
    assert await harness.perform(Prune(10)) == [job.id]
    assert await harness.everything() == []


async def a_chain_whose_key_is_free_sooner_is_kept_for_its_keep_time(harness: Harness) -> None:
    job = await harness.completed(new_job(key="k", keep=3600, dedup_for=60))
    harness.clock.advance(3599)
    assert await harness.perform(Prune(10)) == []
    harness.clock.advance(1)

    assert await harness.perform(Prune(10)) == [job.id]


async def a_failed_chain_whose_key_would_be_taken_for_longer_is_pruned(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k", keep=60, dedup_for=3600))
    await harness.settled(failed(job))
    harness.clock.advance(60)

    assert await harness.perform(Prune(10)) == [job.id]


async def chains_that_are_only_cleared_do_not_hold_up_those_that_can_go(harness: Harness) -> None:
    for number in range(5):
        await harness.completed(new_job(key=str(number), keep=60, dedup_for=3600))
    job = await harness.completed(new_job(keep=61))
    harness.clock.advance(61)

    pruned = [chain for _ in range(6) for chain in await harness.perform(Prune(1))]

    assert pruned == [job.id]
    assert len(await harness.everything()) == 5


async def a_chain_without_a_keep_time_is_not_pruned(harness: Harness) -> None:
    await harness.completed(new_job(keep=None))
    harness.clock.advance(100 * 365 * 24 * 3600)

    assert await harness.perform(Prune(10)) == []


async def a_chain_with_a_keep_time_of_zero_is_pruned_at_once(harness: Harness) -> None:
    job = await harness.completed(new_job(keep=0))

    assert await harness.perform(Prune(10)) == [job.id]


async def unfinished_chains_are_never_pruned(harness: Harness) -> None:
    await harness.start(new_job(keep=0, delay=10**8), new_job("other", keep=0))
    job = await harness.claim_one("other")
    await harness.settled(continued(job, next_job(job, "last", keep=0, delay=10**8)))
    harness.clock.advance(10**6)

    assert await harness.perform(Prune(10)) == []
    assert len(await harness.everything()) == 3


async def all_jobs_of_a_chain_are_pruned_by_the_keep_time_of_the_last(harness: Harness) -> None:
    short = await harness.claimed(new_job(keep=None))
    await harness.settled(continued(short, next_job(short, "last", keep=10)))
    await harness.settled(completed(await harness.claim_one("last")))
    long = await harness.claimed(new_job(keep=10))
    await harness.settled(continued(long, next_job(long, "last", keep=None)))
    await harness.settled(completed(await harness.claim_one("last")))
    harness.clock.advance(3600)

    assert await harness.perform(Prune(10)) == [short.id]
    assert [job.chain_id for job in await harness.everything()] == [long.id, long.id]


async def a_retried_chain_is_not_pruned_by_its_earlier_end_time(harness: Harness) -> None:
    later, at_once = await harness.claimed(new_job(keep=10)), await harness.claimed(new_job(keep=0))
    for job in (later, at_once):
        await harness.settled(failed(job))
        await harness.perform(RetryJobs((job.id,)))
    assert await harness.perform(Prune(10)) == []

    harness.clock.advance(20)
    assert await harness.perform(Prune(10)) == []
    again = await harness.claim(limit=2)
    await harness.settle(*[completed(job) for job in again])
    harness.clock.advance(5)
    assert await harness.perform(Prune(10)) == [at_once.id]
    harness.clock.advance(5)
    assert await harness.perform(Prune(10)) == [later.id]


async def the_oldest_are_pruned_first_up_to_the_limit(harness: Harness) -> None:
    jobs: list[Record] = []
    for _ in range(5):
        jobs.append(await harness.completed(new_job(keep=60)))
        harness.clock.advance(1)
    harness.clock.advance(60)

    assert await harness.perform(Prune(2)) == [jobs[0].id, jobs[1].id]
    assert await harness.perform(Prune(2)) == [jobs[2].id, jobs[3].id]
    assert await harness.perform(Prune(2)) == [jobs[4].id]


async def a_blocker_of_an_unfinished_job_is_not_pruned(harness: Harness) -> None:
    blocker = await harness.completed(new_job("other", keep=1))
    job = await harness.claimed(new_job(after=(blocker.id,)))
    harness.clock.advance(60)

    assert await harness.perform(Prune(10)) == []
    await harness.settled(completed(job))
    assert await harness.perform(Prune(10)) == [blocker.id]


async def a_blocker_of_an_unfinished_continuation_is_not_pruned(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other", keep=1))
    await harness.settled(failed(blocker))
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job, after=(blocker.id,))))
    harness.clock.advance(60)

    assert await harness.perform(Prune(10)) == []
    await harness.perform(CancelChains((job.id,)))
    assert await harness.perform(Prune(10)) == [blocker.id]


async def chains_that_cannot_be_pruned_do_not_prevent_the_pruning_of_newer_ones(harness: Harness) -> None:
    held = [await harness.completed(new_job("other", keep=1)) for _ in range(3)]
    await harness.start(new_job("waits", delay=10**6, after=tuple(chain.id for chain in held)))
    free = await harness.completed(new_job(keep=1))
    harness.clock.advance(60)

    assert await harness.perform(Prune(1)) == [free.id]


async def a_chain_and_its_blockers_are_pruned_in_any_order(harness: Harness) -> None:
    early_blocker = await harness.completed(new_job("other", keep=1))
    late_blocker = await harness.completed(new_job("other", keep=100))
    job = await harness.completed(new_job(keep=10, after=(early_blocker.id, late_blocker.id)))

    harness.clock.advance(5)
    assert await harness.perform(Prune(10)) == [early_blocker.id]
    [blockers] = await harness.perform(GetBlockers((job.id,)))
    assert [chain.first.id for chain in blockers] == [late_blocker.id]
    harness.clock.advance(10)
    assert await harness.perform(Prune(10)) == [job.id]
    harness.clock.advance(100)
    assert await harness.perform(Prune(10)) == [late_blocker.id]


async def each_chain_is_pruned_once_by_concurrent_callers(harness: Harness) -> None:
    other = await harness.second_store()
    jobs = [await harness.completed(new_job(keep=1)) for _ in range(12)]
    harness.clock.advance(5)

    answers = await harness.race([g.perform(Prune(3)) for g in [harness, other] * 4])

    pruned = [chain_id for answer in answers if isinstance(answer, list) for chain_id in answer]
    assert sorted(pruned) == sorted(job.id for job in jobs)
    assert all(len(answer) <= 3 for answer in answers if isinstance(answer, list))
    assert await harness.perform(GetChains(tuple(pruned))) == [None] * 12


async def pruning_a_chain_does_not_change_other_chains(harness: Harness) -> None:
    short = await harness.completed(new_job(keep=1))
    long = await harness.completed(new_job(keep=3600))
    harness.clock.advance(2)

    assert await harness.perform(Prune(10)) == [short.id]
    assert (await harness.job(long.id)).status is Status.COMPLETED


async def chains_whose_key_is_not_free_do_not_use_up_the_limit(harness: Harness) -> None:
    for number in range(5):
        await harness.completed(new_job(key=str(number), keep=10, dedup_for=60))
    last = await harness.completed(new_job(keep=10))
    harness.clock.advance(11)

    assert await harness.perform(Prune(2)) == [last.id]
    assert await harness.perform(Prune(2)) == []
