"""What is created together with a settlement: the chain's next job, and chains beside it."""

from __future__ import annotations

from holdfast.clock import SECOND
from holdfast.errors import ChainNotFound, Conflict
from holdfast.ids import new_id
from holdfast.record import Status
from holdfast.testing.builders import completed, continued, new_job, next_job
from holdfast.testing.conformance.ground import Ground


async def a_continuation_is_the_chains_next_job(ground: Ground) -> None:
    job = await ground.claimed(new_job(key="k"))
    second = next_job(job, "publish", input=b"2", priority=4, delay=10, keep=5)

    await ground.settled(continued(job, second))

    first, last = await ground.chain(job.id)
    assert (first.id, first.status, first.output) == (job.id, Status.COMPLETED, None)
    assert first.finished_at == ground.clock()
    assert (last.id, last.chain_id, last.index, last.type) == (second.id, job.id, 1, "publish")
    assert (last.status, last.input, last.priority, last.keep) == (Status.PENDING, b"2", 4, 5 * SECOND)
    assert (last.created_at, last.scheduled_at) == (ground.clock(), ground.clock() + 10 * SECOND)


async def a_chain_of_many_steps_ends_with_the_output_of_its_last(ground: Ground) -> None:
    job = await ground.claimed()
    for index in range(1, 6):
        await ground.settled(continued(job, next_job(job, "resize")))
        job = await ground.claim_one()
        assert job.index == index
    await ground.settled(completed(job, b'"end"'))

    first, last = await ground.chain(job.chain_id)

    assert (first.id, last.id) == (job.chain_id, job.id)
    assert (last.status, last.output) == (Status.COMPLETED, b'"end"')


async def a_continuation_waits_for_its_blockers(ground: Ground) -> None:
    done = await ground.completed()
    blocker = await ground.claimed(new_job("other"))
    job = await ground.claimed()

    await ground.settled(continued(job, next_job(job, after=(done.id, blocker.id))))

    last = (await ground.chain(job.id)).last
    assert (last.status, last.blockers, last.open_blockers) == (Status.BLOCKED, 2, 1)
    assert (await ground.settled(completed(blocker))).unblocked == ((last.id, "publish"),)
    assert (await ground.chain(job.id)).last.status is Status.PENDING


async def a_continuation_whose_blockers_are_all_completed_is_due(ground: Ground) -> None:
    done = await ground.completed()
    job = await ground.claimed()

    await ground.settled(continued(job, next_job(job, after=(done.id,))))

    last = (await ground.chain(job.id)).last
    assert (last.status, last.blockers, last.open_blockers) == (Status.PENDING, 1, 0)


async def a_continuation_with_an_unknown_blocker_is_refused_and_the_claim_stays_good(ground: Ground) -> None:
    job, unknown = await ground.claimed(), new_id()
    before = await ground.everything()

    ((lost, refused, unblocked),) = await ground.settle(continued(job, next_job(job, after=(unknown,))))

    assert (lost, unblocked) == (None, ())
    assert isinstance(refused, ChainNotFound)
    assert refused.chain_id == unknown
    assert await ground.everything() == before
    await ground.settled(completed(job))


async def chains_started_with_a_settlement_are_created_in_the_same_step(ground: Ground) -> None:
    job = await ground.claimed()
    sides = (new_job("side", delay=5), new_job("side", after=(job.id,)))

    await ground.settled(completed(job, starts=sides))

    assert (await ground.job(sides[0].id)).scheduled_at == ground.clock() + 5 * SECOND
    assert (await ground.job(sides[1].id)).status is Status.PENDING


async def a_continuation_may_wait_for_a_chain_started_with_it(ground: Ground) -> None:
    job = await ground.claimed()
    side = new_job("side")

    await ground.settled(continued(job, next_job(job, after=(side.id,)), starts=(side,)))

    assert (await ground.chain(job.id)).last.status is Status.BLOCKED
    await ground.settled(completed(await ground.claim_one("side")))
    assert (await ground.chain(job.id)).last.status is Status.PENDING


async def a_start_with_an_unknown_blocker_refuses_the_whole_settlement(ground: Ground) -> None:
    job = await ground.claimed()
    before = await ground.everything()

    (answer,) = await ground.settle(completed(job, starts=(new_job("side"), new_job("side", after=(new_id(),)))))

    assert isinstance(answer.refused, ChainNotFound)
    assert await ground.everything() == before


async def a_start_that_no_longer_does_what_was_promised_is_a_conflict(ground: Ground) -> None:
    job = await ground.claimed()
    settlement = completed(job, starts=(new_job("side", key="k"),))
    await ground.start(new_job("side", key="k"))
    before = await ground.everything()

    (answer,) = await ground.settle(settlement)

    assert isinstance(answer.refused, Conflict)
    assert answer.lost is None
    assert await ground.everything() == before


async def a_refused_settlement_does_not_disturb_the_others(ground: Ground) -> None:
    one, two = await ground.claimed(), await ground.claimed()

    answers = await ground.settle(continued(one, next_job(one, after=(new_id(),))), completed(two))

    assert [answer.refused is None for answer in answers] == [False, True]
    assert (await ground.job(one.id)).status is Status.RUNNING
    assert (await ground.job(two.id)).status is Status.COMPLETED
