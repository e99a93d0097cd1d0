"""Weights: a job that waits for its weight reserves the rate, so that jobs of the lane that come after it wait."""

from __future__ import annotations

from holdfast.core.lanes import LaneRule
from holdfast.core.lifecycle import NewJob
from holdfast.engine.operations import CancelChains, NextDue
from holdfast.testing.builders import completed, released
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, rate

TYPES = ("resize", "mail")


async def a_light_job_does_not_overtake_a_heavy_job_of_its_rate(harness: Harness) -> None:
    heavy, light = _job(3), _job(1, type="mail")
    await _use(harness, 1)
    await harness.start(heavy)
    assert await _claimed(harness) == []
    await harness.start(light)

    assert await _claimed(harness) == []
    harness.clock.advance(9)
    assert await _claimed(harness) == []
    harness.clock.advance(1)
    assert await _claimed(harness) == [heavy.id]
    harness.clock.advance(10)
    assert await _claimed(harness) == [light.id]


async def a_light_job_that_waits_already_does_not_overtake_a_heavy_job(harness: Harness) -> None:
    heavy, light = _job(3, priority=1), _job(1, type="mail")
    await _use(harness, 3)
    await harness.start(light, heavy)
    assert await _claimed(harness) == []

    for _ in range(2):
        harness.clock.advance(10)
        assert await _claimed(harness) == []
    harness.clock.advance(10)
    assert await _claimed(harness) == [heavy.id]
    harness.clock.advance(10)
    assert await _claimed(harness) == [light.id]


async def a_stream_of_light_jobs_does_not_starve_a_heavy_job(harness: Harness) -> None:
    heavy, begun = _job(3), list[str]()
    await harness.start(*(_job(1, type="mail") for _ in range(12)))
    assert len(await _claimed(harness)) == 3
    await harness.start(heavy)

    for _ in range(6):
        harness.clock.advance(10)
        # Workers of single types: none of them reads the jobs of the other.
        for type in ("mail", "resize", "mail"):
            begun += [job.id for job in await harness.claim(type, limit=9, lease=86400)]

    assert begun.index(heavy.id) == 1
    assert len(begun) == 4


async def a_light_job_of_a_higher_priority_does_not_wait_for_a_heavy_job(harness: Harness) -> None:
    heavy, light = _job(3), _job(1, type="mail", priority=1)
    await _use(harness, 1)
    await harness.start(heavy)
    assert await _claimed(harness) == []
    await harness.start(light)

    assert await _claimed(harness) == [light.id]
    harness.clock.advance(10)
    assert await _claimed(harness) == []
    harness.clock.advance(10)
    assert await _claimed(harness) == [heavy.id]


async def a_job_without_weight_does_not_wait_for_a_heavy_job(harness: Harness) -> None:
    heavy, free, alike = _job(3), _job(0, type="mail"), _job(0)
    await _use(harness, 1)
    await harness.start(heavy)
    assert await _claimed(harness) == []

    await harness.start(free, alike)

    assert sorted(await _claimed(harness)) == sorted([free.id, alike.id])


async def a_heavy_job_that_waits_for_a_limit_does_not_hold_back_its_rate(harness: Harness) -> None:
    light = _job(1, type="mail")
    await harness.start(laned(limit(1)))
    assert len(await harness.claim(limit=9)) == 1
    await _use(harness, 1)
    await harness.start(laned(_rate(3), limit(1)))
    assert await _claimed(harness) == []

    await harness.start(light)

    assert await _claimed(harness) == [light.id]


async def a_heavy_job_does_not_hold_back_other_keys_of_its_rate(harness: Harness) -> None:
    other = laned(rate(1, per=10, burst=3, key="b"), type="mail")
    await _use(harness, 1)
    await harness.start(_job(3))
    assert await _claimed(harness) == []

    await harness.start(other)

    assert await _claimed(harness) == [other.id]


async def the_time_of_a_heavy_job_is_part_of_next_due(harness: Harness) -> None:
    await _use(harness, 1)
    await harness.start(_job(3), _job(1, type="mail"))
    assert await _claimed(harness) == []

    assert await harness.perform(NextDue(TYPES)) == 10_000_000


async def a_heavy_job_that_no_worker_claims_does_not_hold_back_its_rate_for_long(harness: Harness) -> None:
    light = _job(1, type="mail")
    await _use(harness, 1)
    await harness.start(_job(3))
    assert await _claimed(harness) == []
    await harness.start(light)
    assert await harness.claim("mail", limit=9) == []

    harness.clock.advance(20)

    assert [job.id for job in await harness.claim("mail", limit=9)] == [light.id]


async def a_cancelled_heavy_job_does_not_hold_back_its_rate_for_long(harness: Harness) -> None:
    heavy, light = _job(3), _job(1, type="mail")
    await _use(harness, 1)
    await harness.start(heavy)
    assert await _claimed(harness) == []
    await harness.start(light)
    assert await _claimed(harness) == []

    await harness.perform(CancelChains((heavy.id,)))
    harness.clock.advance(20)

    assert await _claimed(harness) == [light.id]


async def a_heavy_job_begins_as_soon_as_a_released_job_leaves_it_room(harness: Harness) -> None:
    heavy, light = _job(3), _job(1, type="mail")
    await harness.start(_job(1, type="mail"))
    (first,) = await harness.claim("mail")
    await harness.start(heavy)
    assert await _claimed(harness) == []
    await harness.start(light)
    assert await _claimed(harness) == []

    await harness.settled(released(first))

    assert await _claimed(harness) == [heavy.id]


def _job(weight: int, *, type: str = "resize", priority: int = 0) -> NewJob:
    return laned(_rate(weight), type=type, priority=priority)


def _rate(weight: int) -> LaneRule:
    return rate(1, per=10, burst=3, weight=weight)


async def _use(harness: Harness, weight: int) -> None:
    """Use this much of the rate."""
    await harness.start(_job(weight))
    (job,) = await harness.claim()
    await harness.settled(completed(job))


async def _claimed(harness: Harness) -> list[str]:
    return [job.id for job in await harness.claim(*TYPES, limit=9, lease=86400)]
