"""Cancel: end unfinished chains, all or none."""

from __future__ import annotations

from holdfast.core import failure
from holdfast.core.ids import new_id
from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains
from holdfast.errors import ChainNotFound
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness


async def a_cancelled_job_is_not_claimed(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("other"))
    jobs = [
        await harness.started(),
        await harness.started(new_job(delay=10)),
        await harness.started(new_job(after=(blocker.id,))),
    ]

    chains = await harness.perform(CancelChains(tuple(job.id for job in jobs)))

    assert [chain.last.status for chain in chains] == [Status.CANCELLED] * 3
    assert [chain.last.finished_at for chain in chains] == [harness.clock()] * 3
    await harness.settled(completed(blocker))
    harness.clock.advance(3600)
    assert await harness.claim(limit=10) == []


async def the_claim_of_a_cancelled_running_job_is_lost(harness: Harness) -> None:
    job = await harness.claimed()

    ((_, cancelled),) = await harness.perform(CancelChains((job.id,)))

    assert (cancelled.status, cancelled.attempt) == (Status.CANCELLED, 1)
    assert (cancelled.worker, cancelled.token, cancelled.leased_until, cancelled.renewed_at) == (None,) * 4
    (answer,) = await harness.settle(continued(job, next_job(job)))
    assert answer.lost == "cancelled"
    assert (await harness.chain(job.id)).last == cancelled
    await harness.expire()
    assert await harness.reap() == []


async def running_jobs_are_not_cancelled_with_spare_running(harness: Harness) -> None:
    running, waiting = await harness.claimed(), await harness.started(new_job(delay=60))

    chains = await harness.perform(CancelChains((running.id, waiting.id), spare_running=True))

    assert [chain.last.status for chain in chains] == [Status.RUNNING, Status.CANCELLED]
    assert await harness.job(running.id) == running
    await harness.settled(completed(running))


async def the_reason_is_kept_as_the_error_of_the_job(harness: Harness) -> None:
    reason = failure.write("Cancelled", "no longer wanted")
    job = await harness.claimed()
    await harness.settled(retrying(job))

    await harness.perform(CancelChains((job.id,), reason))
    assert (await harness.job(job.id)).error == reason

    plain = await harness.started()
    await harness.perform(CancelChains((plain.id,)))
    assert (await harness.job(plain.id)).error is None


async def the_current_job_of_a_longer_chain_is_cancelled(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job)
    await harness.settled(continued(job, second))

    ((first, last),) = await harness.perform(CancelChains((job.id,)))

    assert (first.status, last.id, last.status) == (Status.COMPLETED, second.id, Status.CANCELLED)
    assert await harness.claim("publish") == []


async def finished_chains_do_not_change_and_are_returned(harness: Harness) -> None:
    done = await harness.completed()
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,), b'["A","first",""]'))
    before = await harness.everything()
    harness.clock.advance(5)

    chains = await harness.perform(CancelChains((done.id, lost.id, dropped.id), b'["A","second",""]'))

    assert [chain.last.status for chain in chains] == [Status.COMPLETED, Status.FAILED, Status.CANCELLED]
    assert await harness.everything() == before


async def an_unknown_chain_refuses_the_whole_operation(harness: Harness) -> None:
    one, two, unknown = await harness.started(), await harness.claimed(new_job("other")), new_id()
    before = await harness.everything()

    error = await harness.refused(ChainNotFound, CancelChains((one.id, unknown, two.id)))

    assert error.chain_id == unknown
    assert await harness.everything() == before


async def the_id_of_a_later_job_is_not_the_id_of_a_chain(harness: Harness) -> None:
    job = await harness.claimed()
    second = next_job(job)
    await harness.settled(continued(job, second))

    await harness.refused(ChainNotFound, CancelChains((second.id,)))

    assert (await harness.chain(job.id)).last.status is Status.PENDING


async def a_chain_that_is_given_twice_is_cancelled_once_and_returned_twice(harness: Harness) -> None:
    job = await harness.claimed()

    chains = await harness.perform(CancelChains((job.id, job.id)))

    assert [chain.last.status for chain in chains] == [Status.CANCELLED] * 2
    assert len(await harness.past(job.id)) == 1


async def chains_that_wait_for_each_other_are_cancelled_together_and_none_fails(harness: Harness) -> None:
    blocker = await harness.started(new_job("other"))
    job = await harness.started(new_job(after=(blocker.id,), on_blocker_failure="fail"))

    chains = await harness.perform(CancelChains((blocker.id, job.id)))

    assert [chain.last.status for chain in chains] == [Status.CANCELLED] * 2


async def an_empty_cancel_returns_nothing(harness: Harness) -> None:
    assert await harness.perform(CancelChains(())) == []
