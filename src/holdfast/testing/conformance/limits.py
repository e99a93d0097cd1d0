"""Limits: a lane never has more running jobs than its limit."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import (
    CancelChains,
    Delete,
    GetLimits,
    NextDue,
    Pause,
    Resume,
    RunNow,
    Start,
)
from holdfast.testing.builders import completed, new_job
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit, with_lanes


async def no_more_jobs_of_a_lane_run_than_its_limit_allows(harness: Harness) -> None:
    await harness.start(*(laned(limit(2)) for _ in range(5)))

    assert len(await harness.claim(limit=10)) == 2
    assert await harness.claim(limit=10) == []


async def each_key_has_a_lane_of_its_own(harness: Harness) -> None:
    await harness.start(*(laned(limit(1, key=key)) for key in "aabbc"))

    assert len(await harness.claim(limit=10)) == 3
    assert await harness.claim(limit=10) == []


async def a_limit_counts_the_jobs_of_all_types_that_use_it(harness: Harness) -> None:
    await harness.start(laned(limit(1), type="a"), laned(limit(1), type="b"))

    (first,) = await harness.claim("a", "b", limit=10)
    assert await harness.claim("b", limit=10) == []

    await harness.settled(completed(first))
    assert [job.type for job in await harness.claim("b", limit=10)] == ["b"]


async def jobs_of_a_lane_are_claimed_in_the_order_of_their_due_times(harness: Harness) -> None:
    jobs = [laned(limit(1)) for _ in range(4)]
    await harness.start(*jobs)

    for expected in jobs:
        (job,) = await harness.claim(limit=10)
        assert job.id == expected.id
        await harness.settled(completed(job))


async def cancelled_and_deleted_jobs_that_wait_are_not_claimed(harness: Harness) -> None:
    jobs = [laned(limit(1)) for _ in range(4)]
    await harness.start(*jobs)
    (running,) = await harness.claim(limit=10)
    await harness.perform(CancelChains((jobs[1].id,)))
    await harness.perform(Delete((jobs[2].id,)))

    await harness.settled(completed(running))

    assert [job.id for job in await harness.claim(limit=10)] == [jobs[3].id]


async def a_job_with_several_lanes_takes_all_or_none(harness: Harness) -> None:
    both = laned(limit(1, name="a"), limit(1, name="b"))
    await harness.start(laned(limit(1, name="b")))
    (holder,) = await harness.claim(limit=10)
    await harness.start(both)

    assert await harness.claim(limit=10) == []
    await harness.start(laned(limit(1, name="a")))
    (other,) = await harness.claim(limit=10)
    assert other.id != both.id

    await harness.settled(completed(holder))
    assert await harness.claim(limit=10) == []
    await harness.settled(completed(other))
    assert [job.id for job in await harness.claim(limit=10)] == [both.id]


async def a_lane_is_not_blocked_by_a_job_that_waits_for_another_lane(harness: Harness) -> None:
    await harness.start(laned(limit(1, name="b")))
    await harness.claim(limit=10)
    waits = [laned(limit(2, name="a"), limit(1, name="b")) for _ in range(20)]
    await harness.start(*waits)
    free = laned(limit(2, name="a"))
    await harness.start(free)

    assert [job.id for job in await harness.claim(limit=10)] == [free.id]


async def room_in_a_lane_is_not_lost_to_a_paused_type(harness: Harness) -> None:
    await harness.start(laned(limit(1), type="a"))
    (holder,) = await harness.claim("a")
    await harness.start(laned(limit(1), type="b"), laned(limit(1), type="c"))
    assert await harness.claim("b", "c", limit=10) == []
    await harness.perform(Pause(("b",)))

    await harness.settled(completed(holder))
    (job,) = await harness.claim("b", "c", limit=10)
    assert job.type == "c"

    await harness.settled(completed(job))
    await harness.perform(Resume(("b",)))
    assert [job.type for job in await harness.claim("b", "c", limit=10)] == ["b"]


async def room_in_a_lane_is_not_lost_to_a_job_that_is_not_due(harness: Harness) -> None:
    await harness.start(laned(limit(1)))
    (holder,) = await harness.claim()
    later, now = laned(limit(1), priority=5, delay=600), laned(limit(1))
    await harness.start(later, now)
    assert await harness.claim(limit=10) == []

    await harness.settled(completed(holder))

    (job,) = await harness.claim(limit=10)
    assert job.id == now.id
    await harness.settled(completed(job))
    assert await harness.claim(limit=10) == []
    harness.clock.advance(600)
    assert [job.id for job in await harness.claim(limit=10)] == [later.id]


async def a_job_that_waits_uses_no_attempt(harness: Harness) -> None:
    waits = laned(limit(1))
    await harness.start(laned(limit(1)), waits)
    await harness.claim(limit=10)
    for _ in range(3):
        assert await harness.claim(limit=10) == []

    job = await harness.job(waits.id)

    assert (job.status, job.attempt, job.started_at) == (Status.PENDING, 0, None)


async def a_blocked_job_waits_in_its_lane_after_it_is_unblocked(harness: Harness) -> None:
    blocker = await harness.claimed(new_job("plain"))
    blocked = with_lanes(new_job(after=(blocker.id,)), limit(1))
    await harness.start(blocked)
    assert await harness.claim(limit=10) == []

    await harness.settled(completed(blocker))

    assert [job.id for job in await harness.claim(limit=10)] == [blocked.id]


async def a_limit_of_zero_lets_no_job_run(harness: Harness) -> None:
    await harness.start(laned(limit(0)))

    assert await harness.claim(limit=10) == []
    assert await harness.perform(NextDue(("resize",))) is None


async def run_now_makes_a_job_with_lanes_due(harness: Harness) -> None:
    job = await harness.started(laned(limit(1), delay=600))
    assert await harness.claim(limit=10) == []

    await harness.perform(RunNow((job.id,)))

    assert [job.id for job in await harness.claim(limit=10)] == [job.id]


async def a_scheduled_job_with_lanes_is_part_of_next_due(harness: Harness) -> None:
    await harness.start(laned(limit(1), delay=5))
    await harness.claim(limit=10)

    assert await harness.perform(NextDue(("resize",))) == 5_000_000
    harness.clock.advance(5)
    assert len(await harness.claim(limit=10)) == 1


async def jobs_that_wait_for_a_full_lane_are_not_part_of_next_due(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    await harness.claim(limit=10, lease=60)

    assert await harness.claim(limit=10) == []
    assert await harness.perform(NextDue(("resize",))) == 60_000_000


async def a_claim_sent_again_returns_the_same_jobs_with_lanes(harness: Harness) -> None:
    await harness.start(laned(limit(1)), laned(limit(1)))
    first = await harness.claim(token="t" * 22)

    again = await harness.claim(token="t" * 22, again=True)

    assert [job.id for job in again] == [job.id for job in first]


async def a_rolled_back_start_leaves_nothing_in_its_lane(harness: Harness) -> None:
    tx = await harness.begin()
    await tx.perform(Start((laned(limit(1)),)))
    await tx.rollback()

    assert await harness.claim(limit=10) == []
    await harness.start(laned(limit(1)))
    assert len(await harness.claim(limit=10)) == 1


async def every_store_object_obeys_the_same_limit(harness: Harness) -> None:
    other = await harness.second_store()
    await harness.start(*(laned(limit(2)) for _ in range(4)))

    assert len(await harness.claim(limit=1)) == 1
    assert len(await other.claim(limit=5)) == 1
    assert await harness.claim(limit=5) == []


async def concurrent_claims_never_exceed_a_limit(harness: Harness) -> None:
    stores = [harness, *[await harness.second_store() for _ in range(3)]]
    await harness.start(
        *(laned(limit(2)) for _ in range(60)), *(laned(limit(2), limit(9, name="b")) for _ in range(20))
    )
    done = 0
    while done < 80:
        answers = await harness.race([store.claim(limit=3) for store in stores])
        running = [job for answer in answers if isinstance(answer, list) for job in answer]
        assert len({job.id for job in running}) == len(running) <= 2
        (lane,) = [lane for each in await harness.perform(GetLimits()) if each.name == "gpu" for lane in each.lanes]
        assert lane.running == len(running)
        for job in running:
            await harness.settled(completed(job))
        done += len(running)


async def claims_and_settlements_at_once_lose_no_room(harness: Harness) -> None:
    stores = [harness, *[await harness.second_store() for _ in range(2)]]
    await harness.start(*(laned(limit(2, key=str(n % 3)), limit(4, name="all")) for n in range(60)))
    running: list[Record] = []
    done = 0
    for _ in range(200):
        settling, running = running[:2], running[2:]
        actions = [store.claim(limit=2) for store in stores]
        answers = await harness.race(
            [*actions, *(store.settled(completed(job)) for store, job in zip(stores, settling, strict=False))]
        )
        done += len(settling)
        running += [job for answer in answers[: len(stores)] if isinstance(answer, list) for job in answer]
        assert len(running) <= 4
        if done == 60:
            break
    assert done == 60
