"""Fairness: jobs without lanes and lanes alternate, and lanes take turns. Priority comes first."""

from __future__ import annotations

from holdfast.core.details import lanes_of, read_details
from holdfast.core.record import Record
from holdfast.testing.builders import completed, new_job
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order, rate


async def plain_jobs_and_lanes_alternate_at_equal_priority(harness: Harness) -> None:
    plain = [new_job() for _ in range(4)]
    lanes = [laned(limit(9, key=key)) for key in "abcd"]
    await harness.start(*plain, *lanes)

    kinds = ["plain" if lanes_of((await harness.claim_one()).details) is None else "lane" for _ in range(8)]

    assert kinds in (["plain", "lane"] * 4, ["lane", "plain"] * 4)


async def one_claim_takes_plain_jobs_and_lanes_alike(harness: Harness) -> None:
    await harness.start(*(new_job() for _ in range(20)), *(laned(limit(9, key=str(n))) for n in range(20)))

    claimed = await harness.claim(limit=10)

    assert sum(lanes_of(job.details) is None for job in claimed) == 5


async def lanes_of_one_limit_take_turns(harness: Harness) -> None:
    await harness.start(*(laned(limit(9, key="a")) for _ in range(6)))
    await harness.start(*(laned(limit(9, key="b")) for _ in range(3)), laned(limit(9, key="c")))

    keys = [_key(await harness.claim_one()) for _ in range(10)]

    assert sorted(keys[:3]) == ["a", "b", "c"]
    assert sorted(keys[3:5]) == ["a", "b"]
    assert sorted(keys[5:7]) == ["a", "b"]
    assert keys[7:] == ["a", "a", "a"]


async def one_claim_takes_from_each_lane_in_turn(harness: Harness) -> None:
    await harness.start(*(laned(limit(9, key="a")) for _ in range(6)), *(laned(limit(9, key="b")) for _ in range(6)))

    assert sorted(map(_key, await harness.claim(limit=4))) == ["a", "a", "b", "b"]


async def priority_comes_before_fairness(harness: Harness) -> None:
    await harness.start(
        *(laned(limit(9, key="a"), priority=1) for _ in range(3)),
        *(laned(limit(9, key="b")) for _ in range(2)),
        new_job(priority=2),
        new_job(),
    )

    claimed = [await harness.claim_one() for _ in range(7)]

    assert [job.priority for job in claimed] == [2, 1, 1, 1, 0, 0, 0]
    assert {_key(job) for job in claimed[1:4]} == {"a"}


async def one_claim_takes_all_jobs_of_a_higher_priority_first(harness: Harness) -> None:
    for rule in (limit(9, name="disk"), rate(1, burst=9), limit(3, name="cpu"), rate(1, name="mail", weight=0)):
        await harness.start(
            *(laned(rule, priority=1) for _ in range(3)),
            *(laned(limit(9, key=key)) for key in "abcdef"),
            *(new_job() for _ in range(4)),
        )

        assert [job.priority for job in await harness.claim(limit=5)] == [1, 1, 1, 0, 0]


async def one_claim_takes_as_many_jobs_of_a_higher_priority_as_the_lane_allows(harness: Harness) -> None:
    await harness.start(
        *(laned(limit(2, name="disk"), priority=5) for _ in range(4)),
        *(laned(limit(9, name="cpu"), priority=3) for _ in range(2)),
        *(laned(limit(9, key=key)) for key in "abcdef"),
    )

    assert [job.priority for job in await harness.claim(limit=6)] == [5, 5, 3, 3, 0, 0]


async def a_claim_alternates_with_the_only_lane_that_has_room(harness: Harness) -> None:
    await harness.start(*(laned(limit(1, key=key)) for key in "bcdefg" for _ in range(2)))
    assert len(await harness.claim(limit=6)) == 6
    await harness.start(*(laned(limit(9, name="disk")) for _ in range(8)), *(new_job() for _ in range(8)))

    claimed = await harness.claim(limit=6)

    assert sum(lanes_of(job.details) is None for job in claimed) == 3


async def the_next_priority_of_a_lane_comes_before_plain_jobs_if_the_first_waits_elsewhere(harness: Harness) -> None:
    gpu, full = limit(1), limit(1, name="disk")
    await harness.start(laned(gpu), laned(full))
    held = await harness.claim(limit=2)
    await harness.start(laned(gpu, full, priority=5), laned(gpu, priority=3), *(new_job() for _ in range(3)))
    assert await harness.claim(limit=1) != []

    await harness.settled(completed(next(job for job in held if _name(job) == "gpu")))

    assert [job.priority for job in await harness.claim(limit=2)] == [3, 0]


async def a_full_lane_of_a_high_priority_does_not_hide_the_next_priority(harness: Harness) -> None:
    for rule in (limit(key="a"), order(key="a")):
        await harness.start(laned(rule, priority=5), laned(rule, priority=5))
        assert (await harness.claim_one()).priority == 5
        await harness.start(laned(limit(9, name="disk"), priority=3), new_job())

        assert [(await harness.claim_one()).priority for _ in range(2)] == [3, 0]


async def the_priorities_of_one_lane_are_served_in_order(harness: Harness) -> None:
    low, high = laned(limit(1)), laned(limit(1), priority=7)
    await harness.start(laned(limit(1)))
    (running,) = await harness.claim()
    await harness.start(low, high)
    assert await harness.claim(limit=10) == []

    await harness.settled(completed(running))

    assert [job.id for job in await harness.claim(limit=10)] == [high.id]


async def types_share_the_turns_of_a_lane(harness: Harness) -> None:
    await harness.start(*(laned(limit(9, key="a"), type=type) for type in ("x", "y", "z")))
    await harness.start(laned(limit(9, key="b"), type="x"))

    first, second = [(await harness.claim("x", "y", "z"))[0] for _ in range(2)]

    assert {_key(first), _key(second)} == {"a", "b"}


def _name(job: Record) -> str:
    lanes = read_details(job.details).lanes
    assert lanes is not None
    return lanes.rules[0].name


def _key(job: Record) -> str:
    lanes = read_details(job.details).lanes
    assert lanes is not None
    return lanes.rules[0].key
