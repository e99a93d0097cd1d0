"""Cancelling: final, all or nothing, and told to whoever asked."""

from __future__ import annotations

from holdfast import failure
from holdfast.errors import ChainNotFound
from holdfast.ids import new_id
from holdfast.operations import Cancel
from holdfast.record import Status
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.ground import Ground


async def a_job_that_had_not_started_never_will(ground: Ground) -> None:
    blocker = await ground.claimed(new_job("other"))
    jobs = [
        await ground.started(),
        await ground.started(new_job(delay=10)),
        await ground.started(new_job(after=(blocker.id,))),
    ]

    chains = await ground.perform(Cancel(tuple(job.id for job in jobs)))

    assert [chain.last.status for chain in chains] == [Status.CANCELLED] * 3
    assert [chain.last.finished_at for chain in chains] == [ground.clock()] * 3
    await ground.settled(completed(blocker))
    ground.clock.advance(3600)
    assert await ground.claim(limit=10) == []


async def a_running_job_can_write_nothing_more(ground: Ground) -> None:
    job = await ground.claimed()

    ((_, cancelled),) = await ground.perform(Cancel((job.id,)))

    assert (cancelled.status, cancelled.attempt) == (Status.CANCELLED, 1)
    assert (cancelled.worker, cancelled.token, cancelled.leased_until, cancelled.renewed_at) == (None,) * 4
    (answer,) = await ground.settle(continued(job, next_job(job)))
    assert answer.lost == "cancelled"
    assert (await ground.chain(job.id)).last == cancelled
    await ground.expire()
    assert await ground.reap() == []


async def running_jobs_are_spared_where_asked(ground: Ground) -> None:
    running, waiting = await ground.claimed(), await ground.started(new_job(delay=60))

    chains = await ground.perform(Cancel((running.id, waiting.id), spare_running=True))

    assert [chain.last.status for chain in chains] == [Status.RUNNING, Status.CANCELLED]
    assert await ground.job(running.id) == running
    await ground.settled(completed(running))


async def the_reason_is_kept_as_the_jobs_error(ground: Ground) -> None:
    reason = failure.write("Cancelled", "no longer wanted")
    job = await ground.claimed()
    await ground.settled(retrying(job))

    await ground.perform(Cancel((job.id,), reason))
    assert (await ground.job(job.id)).error == reason

    plain = await ground.started()
    await ground.perform(Cancel((plain.id,)))
    assert (await ground.job(plain.id)).error is None


async def the_current_job_of_a_chain_is_cancelled_whichever_step_it_is(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job)
    await ground.settled(continued(job, second))

    ((first, last),) = await ground.perform(Cancel((job.id,)))

    assert (first.status, last.id, last.status) == (Status.COMPLETED, second.id, Status.CANCELLED)
    assert await ground.claim("publish") == []


async def finished_chains_are_left_alone_and_answered(ground: Ground) -> None:
    done = await ground.completed()
    lost = await ground.claimed()
    await ground.settled(failed(lost))
    dropped = await ground.started()
    await ground.perform(Cancel((dropped.id,), b'["A","first",""]'))
    before = await ground.everything()
    ground.clock.advance(5)

    chains = await ground.perform(Cancel((done.id, lost.id, dropped.id), b'["A","second",""]'))

    assert [chain.last.status for chain in chains] == [Status.COMPLETED, Status.FAILED, Status.CANCELLED]
    assert await ground.everything() == before


async def an_unknown_chain_means_that_nothing_is_cancelled(ground: Ground) -> None:
    one, two, unknown = await ground.started(), await ground.claimed(new_job("other")), new_id()
    before = await ground.everything()

    error = await ground.refused(ChainNotFound, Cancel((one.id, unknown, two.id)))

    assert error.chain_id == unknown
    assert await ground.everything() == before


async def the_id_of_a_later_job_is_not_that_of_a_chain(ground: Ground) -> None:
    job = await ground.claimed()
    second = next_job(job)
    await ground.settled(continued(job, second))

    await ground.refused(ChainNotFound, Cancel((second.id,)))

    assert (await ground.chain(job.id)).last.status is Status.PENDING


async def a_chain_named_twice_is_cancelled_once_and_answered_twice(ground: Ground) -> None:
    job = await ground.claimed()

    chains = await ground.perform(Cancel((job.id, job.id)))

    assert [chain.last.status for chain in chains] == [Status.CANCELLED] * 2
    assert len(await ground.past(job.id)) == 1


async def chains_cancelled_together_are_all_cancelled_though_one_waits_for_another(ground: Ground) -> None:
    blocker = await ground.started(new_job("other"))
    job = await ground.started(new_job(after=(blocker.id,), on_blocker_failure="fail"))

    chains = await ground.perform(Cancel((blocker.id, job.id)))

    assert [chain.last.status for chain in chains] == [Status.CANCELLED] * 2


async def cancelling_nothing_answers_nothing(ground: Ground) -> None:
    assert await ground.perform(Cancel(())) == []
