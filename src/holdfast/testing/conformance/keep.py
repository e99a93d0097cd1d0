"""Keeping finished chains for another while."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.ids import new_id
from holdfast.operations import Cancel, Keep, Prune
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def a_finished_chain_is_kept_from_now_on(ground: Ground) -> None:
    job = await ground.completed(new_job(keep=60))
    ground.clock.advance(50)

    assert await ground.perform(Keep((job.id,), 60 * SECOND)) == [True]

    ground.clock.advance(59.999999)
    assert await ground.perform(Prune(10)) == []
    ground.clock.advance(0.000001)
    assert await ground.perform(Prune(10)) == [job.id]


async def a_keep_time_is_shortened_too(ground: Ground) -> None:
    job = await ground.completed(new_job(keep=3600))
    ground.clock.advance(100)

    assert await ground.perform(Keep((job.id,), 5 * SECOND)) == [True]

    ground.clock.advance(5)
    assert await ground.perform(Prune(10)) == [job.id]


async def a_chain_is_kept_for_ever_and_no_longer_so(ground: Ground) -> None:
    job = await ground.completed(new_job(keep=60))
    assert await ground.perform(Keep((job.id,), None)) == [True]
    ground.clock.advance(10**6)
    assert await ground.perform(Prune(10)) == []

    assert await ground.perform(Keep((job.id,), 0)) == [True]
    assert await ground.perform(Prune(10)) == [job.id]


async def failed_and_cancelled_chains_are_kept_too(ground: Ground) -> None:
    lost, dropped = await ground.claimed(), await ground.started()
    await ground.settled(failed(lost))
    await ground.perform(Cancel((dropped.id,)))

    assert await ground.perform(Keep((dropped.id, lost.id), SECOND)) == [True, True]

    ground.clock.advance(1)
    pruned = await ground.perform(Prune(10))
    assert sorted(pruned) == sorted([lost.id, dropped.id])


async def the_keep_time_of_a_longer_chain_is_that_of_its_last_job(ground: Ground) -> None:
    job = await ground.claimed(new_job(keep=1))
    await ground.settled(continued(job, next_job(job, "publish")))
    await ground.settled(completed(await ground.claim_one("publish")))

    assert await ground.perform(Keep((job.id,), 60 * SECOND)) == [True]

    first, last = await ground.chain(job.id)
    assert (first.keep, last.keep) == (SECOND, 60 * SECOND)


async def answers_are_in_order_and_tell_why_not(ground: Ground) -> None:
    done, past = await ground.completed(), await ground.completed(new_job(keep=0))
    blocked = await ground.started(new_job(after=((await ground.started(new_job("other"))).id,)))
    running, pending = await ground.claimed(), await ground.started(new_job(delay=60))
    before = await ground.everything()

    answers = await ground.perform(Keep((new_id(), running.id, done.id, pending.id, past.id, blocked.id), SECOND))

    assert answers == [None, False, True, False, None, False]
    changed = [job for job in await ground.everything() if job not in before]
    assert [job.id for job in changed] == [done.id]


async def the_id_of_a_later_job_is_not_that_of_a_chain(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job)
    await ground.settled(continued(job, second))
    await ground.settled(completed(await ground.claim_one("publish")))

    assert await ground.perform(Keep((second.id,), SECOND)) == [None]
