"""Jobs that are created with a settlement: the next job of the chain, and side chains."""

from __future__ import annotations

from holdfast.core.clock import SECOND
from holdfast.core.ids import new_id
from holdfast.core.record import Status
from holdfast.errors import ChainNotFound, Conflict
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def a_continuation_is_the_next_job_of_the_chain(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k"))
    second = next_job(job, "publish", input=b"2", priority=4, delay=10, keep=5)

    await harness.settled(continued(job, second))

    first, last = await harness.chain(job.id)
    assert (first.id, first.status, first.output) == (job.id, Status.COMPLETED, None)
    assert first.finished_at == harness.clock()
    assert (last.id, last.chain_id, last.index, last.type) == (second.id, job.id, 1, "publish")
    assert (last.status, last.input, last.priority, last.keep) == (Status.PENDING, b"2", 4, 5 * SECOND)
    assert (last.created_at, last.scheduled_at) == (harness.clock(), harness.clock() + 10 * SECOND)


async def a_chain_of_many_jobs_has_the_output_of_its_last_job(harness: Harness) -> None:
    job = await harness.claimed()
    for index in range(1, 6):
        await harness.settled(continued(job, next_job(job, "resize")))
        job = await harness.claim_one()
        assert job.index == index
    await harness.settled(completed(job, b'"end"'))

    first, last = await harness.chain(job.chain_id)

    assert (first.id, last.id) == (job.chain_id, job.id)
    assert (last.status, last.output) == (Status.COMPLETED, b'"end"')


async def a_continuation_waits_for_its_blockers(harness: Harness) -> None:
    done = await harness.completed()
    blocker = await harness.claimed(new_job("other"))
    job = await harness.claimed()

    await harness.settled(continued(job, next_job(job, after=(done.id, blocker.id))))

    last = (await harness.chain(job.id)).last
    assert (last.status, last.blockers, last.open_blockers) == (Status.BLOCKED, 2, 1)
    assert (await harness.settled(completed(blocker))).unblocked == ((last.id, "publish"),)
    assert (await harness.chain(job.id)).last.status is Status.PENDING


async def a_continuation_whose_blockers_are_all_completed_is_due(harness: Harness) -> None:
    done = await harness.completed()
    job = await harness.claimed()

    await harness.settled(continued(job, next_job(job, after=(done.id,))))

    last = (await harness.chain(job.id)).last
    assert (last.status, last.blockers, last.open_blockers) == (Status.PENDING, 1, 0)


async def a_continuation_with_an_unknown_blocker_is_refused_and_the_claim_still_holds(harness: Harness) -> None:
    job, unknown = await harness.claimed(), new_id()
    before = await harness.everything()

    ((lost, refused, unblocked),) = await harness.settle(continued(job, next_job(job, after=(unknown,))))

    assert (lost, unblocked) == (None, ())
    assert isinstance(refused, ChainNotFound)
    assert refused.chain_id == unknown
    assert await harness.everything() == before
    await harness.settled(completed(job))


async def chains_started_with_a_settlement_are_created_atomically_with_it(harness: Harness) -> None:
    job = await harness.claimed()
    sides = (new_job("side", delay=5), new_job("side", after=(job.id,)))

    await harness.settled(completed(job, starts=sides))

    assert (await harness.job(sides[0].id)).scheduled_at == harness.clock() + 5 * SECOND
    assert (await harness.job(sides[1].id)).status is Status.PENDING


async def a_continuation_may_wait_for_a_chain_started_with_it(harness: Harness) -> None:
    job = await harness.claimed()
    side = new_job("side")

    await harness.settled(continued(job, next_job(job, after=(side.id,)), starts=(side,)))

    assert (await harness.chain(job.id)).last.status is Status.BLOCKED
    await harness.settled(completed(await harness.claim_one("side")))
    assert (await harness.chain(job.id)).last.status is Status.PENDING


async def a_start_with_an_unknown_blocker_refuses_the_whole_settlement(harness: Harness) -> None:
    job = await harness.claimed()
    before = await harness.everything()

    (answer,) = await harness.settle(completed(job, starts=(new_job("side"), new_job("side", after=(new_id(),)))))

    assert isinstance(answer.refused, ChainNotFound)
    assert await harness.everything() == before


async def a_start_whose_result_differs_from_the_expected_chain_is_a_conflict(harness: Harness) -> None:
    job = await harness.claimed()
    settlement = completed(job, starts=(new_job("side", key="k"),))
    await harness.start(new_job("side", key="k"))
    before = await harness.everything()

    (answer,) = await harness.settle(settlement)

    assert isinstance(answer.refused, Conflict)
    assert answer.lost is None
    assert await harness.everything() == before


async def a_refused_settlement_does_not_affect_the_others(harness: Harness) -> None:
    one, two = await harness.claimed(), await harness.claimed()

    answers = await harness.settle(continued(one, next_job(one, after=(new_id(),))), completed(two))

    assert [answer.refused is None for answer in answers] == [False, True]
    assert (await harness.job(one.id)).status is Status.RUNNING
    assert (await harness.job(two.id)).status is Status.COMPLETED
