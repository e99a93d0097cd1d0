"""Whatever ends an attempt releases its lanes."""

from __future__ import annotations

from holdfast.core.record import Status
from holdfast.engine.operations import (
    CancelChains,
    Complete,
    Completion,
    Delete,
)
from holdfast.testing.builders import cancelled, completed, continued, failed, new_job, next_job, released, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, with_lanes


async def a_settled_attempt_releases_its_lane(harness: Harness) -> None:
    for settlement in (completed, retrying, failed, cancelled, released):
        await harness.start(laned(limit(1)), laned(limit(1)))
        (job,) = await harness.claim(limit=10)
        await harness.settled(settlement(job))

        (other,) = await harness.claim(limit=10)

        await harness.settled(completed(other))
        for left in await harness.claim(limit=10):
            await harness.settled(completed(left))


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
