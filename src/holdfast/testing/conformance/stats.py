"""Stats: counts per type and status, from one snapshot."""

from __future__ import annotations

from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, Delete, GetStats, Pause, Prune, Resume, RetryJobs, TypeStats
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, limit

ADDED_UP_AT = 200
"""The SQL stores add up the changes of the counters if there are at least this many."""


async def jobs_are_counted_per_type_and_status(harness: Harness) -> None:
    await harness.completed()
    await harness.settled(failed(await harness.claimed()))
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,)))
    running = await harness.claimed()
    await harness.start(new_job(after=(running.id,)), new_job(after=(running.id,)), new_job(), new_job("publish"))

    publish, resize = await harness.perform(GetStats())

    assert (publish.type, publish.counts.get(Status.PENDING), sum(publish.counts.values())) == ("publish", 1, 1)
    assert resize.type == "resize"
    assert {status: count for status, count in resize.counts.items() if count} == {
        Status.COMPLETED: 1,
        Status.FAILED: 1,
        Status.CANCELLED: 1,
        Status.RUNNING: 1,
        Status.BLOCKED: 2,
        Status.PENDING: 1,
    }


async def every_job_of_a_chain_counts_under_its_own_type(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(continued(job, next_job(job, "publish")))

    by_type = await _by_type(harness)

    assert (by_type["resize"].counts[Status.COMPLETED], by_type["publish"].counts[Status.PENDING]) == (1, 1)


async def pending_jobs_are_due_or_scheduled(harness: Harness) -> None:
    oldest = harness.clock()
    await harness.start(new_job(), new_job(delay=5), new_job(delay=60))
    waiting = await harness.claimed(new_job(priority=9))
    await harness.settled(retrying(waiting, delay=60))
    harness.clock.advance(5)

    (stats,) = await harness.perform(GetStats())

    assert (stats.due, stats.scheduled, stats.oldest_due) == (2, 2, oldest)
    assert stats.counts[Status.PENDING] == 4


async def pending_jobs_stay_exact_after_deletions_and_after_the_counters_were_added_up(harness: Harness) -> None:
    """A store may count pending jobs as those that have no other status."""
    for priority in (8, 9):
        for number in range(ADDED_UP_AT):
            await harness.completed(new_job(priority=99, keep=number % 2 * 60))
        await harness.start(new_job(), new_job(delay=60), new_job(priority=3), new_job("publish"))
        lost = await harness.claimed(new_job(priority=priority))
        await harness.settled(failed(lost))
        harness.clock.advance(1)
        pruned = await harness.perform(Prune(2 * ADDED_UP_AT))
        assert len(pruned) == ADDED_UP_AT // 2
        await harness.perform(RetryJobs((lost.id,)))
    newest = await harness.completed(new_job(priority=99))
    await harness.perform(Delete((newest.chain_id, (await harness.started()).chain_id)))

    publish, resize = await harness.perform(GetStats())

    assert (publish.counts, publish.due) == ({Status.PENDING: 2}, 2)
    assert resize.counts == {Status.PENDING: 8, Status.COMPLETED: ADDED_UP_AT}
    assert (resize.due, resize.scheduled) == (6, 2)


async def pending_jobs_with_lanes_are_due_or_scheduled(harness: Harness) -> None:
    oldest = harness.clock()
    await harness.start(laned(limit(key="a")), laned(limit(key="b"), delay=60), new_job(delay=90))
    harness.clock.advance(5)
    await harness.start(new_job())

    (stats,) = await harness.perform(GetStats())

    assert (stats.due, stats.scheduled, stats.oldest_due) == (2, 2, oldest)


async def the_oldest_due_time_is_none_without_due_jobs(harness: Harness) -> None:
    await harness.start(new_job(delay=60))

    (stats,) = await harness.perform(GetStats())

    assert (stats.due, stats.scheduled, stats.oldest_due) == (0, 1, None)


async def paused_types_are_shown_even_without_jobs(harness: Harness) -> None:
    await harness.perform(Pause(("resize", "publish")))
    await harness.start(new_job("resize"), new_job("ship"))

    assert {name: one.paused for name, one in (await _by_type(harness)).items()} == {
        "publish": True,
        "resize": True,
        "ship": False,
    }
    await harness.perform(Resume(("publish", "resize")))
    assert {name: one.paused for name, one in (await _by_type(harness)).items()} == {"resize": False, "ship": False}


async def an_empty_store_has_no_types(harness: Harness) -> None:
    assert await harness.perform(GetStats()) == []

    job = await harness.started()
    await harness.perform(Delete((job.id,)))
    assert [one for one in await harness.perform(GetStats()) if sum(one.counts.values())] == []


async def every_created_job_is_in_exactly_one_status_while_others_work(harness: Harness) -> None:
    other = await harness.second_store()
    await harness.start(*[new_job() for _ in range(40)])

    answers = await harness.race([*[_work(other) for _ in range(4)], *[_count(harness) for _ in range(4)]])

    assert answers == [0, 0, 0, 0, 40, 40, 40, 40]
    (stats,) = await harness.perform(GetStats())
    assert {status: count for status, count in stats.counts.items() if count} == {Status.COMPLETED: 40}


async def _work(harness: Harness) -> int:
    while jobs := await harness.claim(limit=3):
        await harness.settle(*[completed(job) for job in jobs])
    return 0


async def _count(harness: Harness) -> int:
    """The number of jobs, which must be the same in several counts."""
    counts = {sum(one.counts.values()) for _ in range(10) for one in await harness.perform(GetStats())}
    assert len(counts) == 1
    return counts.pop()


async def _by_type(harness: Harness) -> dict[str, TypeStats]:
    return {one.type: one for one in await harness.perform(GetStats())}
