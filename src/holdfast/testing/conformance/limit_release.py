"""Every operation that ends an attempt releases its lanes."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.record import FINISHED, Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Delete,
)
from holdfast.testing.builders import cancelled, completed, continued, failed, new_job, next_job, released, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order, with_lanes


async def a_settled_attempt_releases_its_lane(harness: Harness) -> None:
    for settlement in (completed, retrying, failed, cancelled, released):
        await harness.start(laned(limit(1)), laned(limit(1)))
        (job,) = await harness.claim(limit=10)
        await harness.settled(settlement(job))

        (other,) = await harness.claim(limit=10)

        await harness.settled(completed(other))
        for left in await harness.claim(limit=10):
            await harness.settled(completed(left))


async def a_job_that_returns_to_pending_is_claimed_with_jobs_that_were_started_meanwhile(harness: Harness) -> None:
    for settlement in (retrying, released):
        await harness.start(laned(limit(2)))
        (job,) = await harness.claim(limit=10)
        other, later = laned(limit(2, name="disk")), laned(limit(2))
        await harness.start(other)
        await harness.start(later)

        await harness.settled(settlement(job))

        claimed = await harness.claim(limit=10)
        assert {each.id for each in claimed} == {job.id, other.id, later.id}
        await harness.settle(*map(completed, claimed))


async def a_settled_attempt_releases_all_its_lanes(harness: Harness) -> None:
    rules = limit(1), limit(1, name="disk")
    for settlement in (completed, retrying, failed, cancelled, released):
        first = laned(*rules)
        await harness.start(first)
        (job,) = await harness.claim(limit=10)
        waiting = [laned(rule) for rule in rules]
        await harness.start(*waiting)
        assert await harness.claim(limit=10) == []

        await harness.settled(settlement(job))

        others = await harness.claim(limit=2)
        assert len(others) >= 1
        await harness.settle(*map(completed, others))
        while left := await harness.claim(limit=10):
            await harness.settle(*map(completed, left))
        assert {job.status for job in await harness.everything()} <= FINISHED


async def one_settlement_releases_the_lanes_of_all_its_jobs(harness: Harness) -> None:
    rules = [limit(1)], [limit(1, name="disk"), limit(9, name="all")], [order()], [limit(9, name="all")]
    for _ in range(2):
        await harness.start(new_job(), *(laned(*lanes) for lanes in rules))
    first = await harness.claim(limit=20)
    assert len(first) == 7
    assert await harness.claim(limit=20) == []

    await harness.settle(*map(completed, first))

    assert len(await harness.claim(limit=20)) == 3


async def a_job_in_an_order_of_its_chain_releases_its_lane_and_the_order(harness: Harness) -> None:
    first, second = laned(order(chain=True)), laned(order(chain=True))
    await harness.start(first, second, laned(limit(1), type="publish"))
    (job,) = await harness.claim(limit=10)
    await harness.settled(continued(job, with_lanes(next_job(job, "publish"), limit(1))))
    for _ in range(2):
        publishing = await harness.claim_one("publish")
        assert await harness.claim("publish", "resize", limit=10) == []
        await harness.settled(completed(publishing))

    assert [job.id for job in await harness.claim(limit=10)] == [second.id]


async def a_chain_that_was_replaced_without_lanes_holds_no_lane(harness: Harness) -> None:
    keyed = replace(laned(limit(1)), key="k")
    await harness.start(keyed)
    (job,) = await harness.claim(limit=10)
    await harness.settled(retrying(job, delay=60))

    await harness.start(replace(new_job(key="k"), dedup="waiting"), laned(limit(1)))

    assert len(await harness.claim(limit=10)) == 2


async def a_continued_attempt_releases_its_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    (job,) = await harness.claim(limit=10)

    await harness.settled(continued(job, next_job(job)))

    assert len(await harness.claim(limit=10)) == 1


async def a_continuation_obeys_its_own_lanes(harness: Harness) -> None:
    await harness.start(laned(limit(1)))
    first = await harness.claimed(new_job("plain"))

    await harness.settled(continued(first, with_lanes(next_job(first, "resize"), limit(1))))

    (running,) = await harness.claim(limit=10)
    assert await harness.claim(limit=10) == []
    await harness.settled(completed(running))
    assert len(await harness.claim(limit=10)) == 1


async def a_reaped_attempt_releases_its_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1)))
    await harness.claim()
    await harness.start(laned(limit(1)))
    await harness.expire()
    assert await harness.claim(limit=10) == []

    assert len(await harness.reap()) == 1

    assert len(await harness.claim(limit=10)) == 1
    assert await harness.claim(limit=10) == []


async def a_reaped_job_without_attempts_left_releases_its_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    await harness.claim(max_attempts=1)
    await harness.expire()

    assert [each.record.status for each in await harness.reap()] == [Status.FAILED]

    assert len(await harness.claim(limit=10)) == 1


async def a_cancelled_job_releases_its_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    (job,) = await harness.claim(limit=10)

    await harness.perform(CancelChains((job.chain_id,)))

    assert len(await harness.claim(limit=10)) == 1
    assert await harness.claim(limit=10) == []


async def a_deleted_job_releases_its_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    (job,) = await harness.claim(limit=10)

    await harness.perform(Delete((job.chain_id,)))

    assert len(await harness.claim(limit=10)) == 1
    assert await harness.claim(limit=10) == []


async def a_job_completed_from_outside_releases_its_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    (job,) = await harness.claim(limit=10)

    await harness.perform(Complete(job.chain_id, job.id, (Completion(output=b"1"),)))

    assert len(await harness.claim(limit=10)) == 1
