"""Claims that take one job of each of several lanes: a lane whose first job may not start gives none."""

from __future__ import annotations

from holdfast.engine.operations import NextDue
from holdfast.testing.builders import completed
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, order


async def a_first_job_that_is_not_due_holds_its_order_and_no_other(harness: Harness) -> None:
    first, behind = laned(order(key="x"), delay=60), laned(order(key="x"))
    others = [laned(order(key=key)) for key in "yz"]
    await harness.start(first, behind, *others)

    assert [job.id for job in await harness.claim(limit=2)] == [job.id for job in others]
    assert await harness.claim(limit=1) == []


async def a_job_of_another_type_at_the_front_holds_the_order(harness: Harness) -> None:
    front, behind = laned(order(key="x"), type="a"), laned(order(key="x"), type="b")
    await harness.start(front, behind)

    assert await harness.claim("b", limit=1) == []
    assert [job.id for job in await harness.claim("a", "b", limit=1)] == [front.id]


async def an_order_without_other_jobs_is_not_due_after_its_claim(harness: Harness) -> None:
    await harness.start(*(laned(order(key=key)) for key in "xyz"))
    claimed = [job for _ in range(3) for job in await harness.claim(limit=1)]

    due = await harness.perform(NextDue(("resize",)))

    assert len(claimed) == 3
    assert due is None or due > 0


async def a_limit_with_room_takes_further_jobs_of_a_lane_in_later_claims(harness: Harness) -> None:
    jobs = [laned(limit(2, key=key)) for key in "xyxyxy"]
    await harness.start(*jobs)

    claimed = [job for _ in range(5) for job in await harness.claim(limit=1)]
    assert [job.id for job in claimed] == [job.id for job in jobs[:4]]

    await harness.settled(completed(claimed[1]))
    assert [job.id for job in await harness.claim(limit=1)] == [jobs[5].id]
