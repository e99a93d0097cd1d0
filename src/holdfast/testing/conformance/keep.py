"""Keep: change how long finished chains are kept."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.ids import new_id
from holdfast.engine.operations import CancelChains, Keep, Prune
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def the_keep_time_counts_from_now(harness: Harness) -> None:
    job = await harness.completed(new_job(keep=60))
    harness.clock.advance(50)

    assert await harness.perform(Keep((job.id,), 60 * SECOND)) == [True]

    harness.clock.advance(59.999999)
    assert await harness.perform(Prune(10)) == []
    harness.clock.advance(0.000001)
    assert await harness.perform(Prune(10)) == [job.id]


async def a_keep_time_can_be_shortened(harness: Harness) -> None:
    job = await harness.completed(new_job(keep=3600))
    harness.clock.advance(100)

    assert await harness.perform(Keep((job.id,), 5 * SECOND)) == [True]

    harness.clock.advance(5)
    assert await harness.perform(Prune(10)) == [job.id]


async def a_chain_is_kept_without_end_and_then_with_an_end(harness: Harness) -> None:
    job = await harness.completed(new_job(keep=60))
    assert await harness.perform(Keep((job.id,), None)) == [True]
    harness.clock.advance(10**6)
    assert await harness.perform(Prune(10)) == []

    assert await harness.perform(Keep((job.id,), 0)) == [True]
    assert await harness.perform(Prune(10)) == [job.id]


async def failed_and_cancelled_chains_are_kept_too(harness: Harness) -> None:
    lost, dropped = await harness.claimed(), await harness.started()
    await harness.settled(failed(lost))
    await harness.perform(CancelChains((dropped.id,)))

    assert await harness.perform(Keep((dropped.id, lost.id), SECOND)) == [True, True]

    harness.clock.advance(1)
    pruned = await harness.perform(Prune(10))
    assert sorted(pruned) == sorted([lost.id, dropped.id])


async def the_keep_time_of_a_longer_chain_is_that_of_its_last_job(harness: Harness) -> None:
    job = await harness.claimed(new_job(keep=1))
    await harness.settled(continued(job, next_job(job, "publish")))
    await harness.settled(completed(await harness.claim_one("publish")))

    assert await harness.perform(Keep((job.id,), 60 * SECOND)) == [True]

    first, last = await harness.chain(job.id)
    assert (first.keep, last.keep) == (SECOND, 60 * SECOND)


async def results_are_in_order_and_show_unfinished_and_unknown_chains(harness: Harness) -> None:
    done, past = await harness.completed(), await harness.completed(new_job(keep=0))
    blocked = await harness.started(new_job(after=((await harness.started(new_job("other"))).id,)))
    running, pending = await harness.claimed(), await harness.started(new_job(delay=60))
    before = await harness.everything()

    answers = await harness.perform(Keep((new_id(), running.id, done.id, pending.id, past.id, blocked.id), SECOND))

    assert answers == [None, False, True, False, None, False]
    changed = [job for job in await harness.everything() if job not in before]
    assert [job.id for job in changed] == [done.id]


async def the_id_of_a_later_job_is_not_the_id_of_a_chain(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job)
    await harness.settled(continued(job, second))
    await harness.settled(completed(await harness.claim_one("publish")))

    assert await harness.perform(Keep((second.id,), SECOND)) == [None]
