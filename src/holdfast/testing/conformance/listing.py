"""List: newest first, in pages that skip and repeat no row."""

from __future__ import annotations

from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, Delete, Filter, ListChains, ListJobs
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, rescheduled, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.conformance.lists import listed_chains, listed_jobs


async def jobs_and_chains_are_listed_newest_first(harness: Harness) -> None:
    job = await harness.claimed()
    second = await harness.started(new_job("other"))
    third = next_job(job, "publish")
    await harness.settled(continued(job, third))

    assert [job.id for job in await harness.everything()] == [third.id, second.id, job.id]
    chains = await harness.perform(ListChains(Filter(), limit=10))
    assert [chain.first.id for chain in chains] == [second.id, job.id]
    assert [chain.last.id for chain in chains] == [second.id, third.id]


async def at_most_the_limit_is_listed(harness: Harness) -> None:
    jobs = [await harness.started() for _ in range(5)]

    assert await harness.perform(ListJobs(Filter(), limit=2)) == [jobs[4], jobs[3]]
    assert [chain.first for chain in await harness.perform(ListChains(Filter(), limit=2))] == [jobs[4], jobs[3]]


async def pages_skip_and_repeat_no_row_while_new_rows_are_created(harness: Harness) -> None:
    wanted = [one.chain.first for one in await harness.start(*[new_job() for _ in range(25)])]
    page, chain_page = await harness.perform(ListJobs(Filter(), 4)), await harness.perform(ListChains(Filter(), 4))
    jobs, chains = list(page), [chain.first for chain in chain_page]

    while page.next_before is not None:
        await harness.start(new_job(), new_job())
        page = await harness.perform(ListJobs(Filter(), limit=4, before=page.next_before))
        chain_page = await harness.perform(ListChains(Filter(), limit=4, before=chain_page.next_before))
        jobs += page
        chains += [chain.first for chain in chain_page]

    assert {job.created_at for job in jobs} == {harness.clock()}
    assert jobs == chains == wanted[::-1]


async def pages_continue_after_the_last_row_was_deleted(harness: Harness) -> None:
    jobs = [await harness.started() for _ in range(6)]
    page = await harness.perform(ListJobs(Filter(), limit=2))
    await harness.perform(Delete((page[-1].id,)))

    rest = await harness.perform(ListJobs(Filter(), limit=10, before=page.next_before))

    assert rest == jobs[3::-1]


async def pages_of_chains_do_not_change_while_chains_continue(harness: Harness) -> None:
    started = [await harness.started() for _ in range(6)]
    first = await harness.perform(ListChains(Filter(), limit=3))
    for job in await harness.claim(limit=6):
        await harness.settled(continued(job, next_job(job)))

    second = await harness.perform(ListChains(Filter(), limit=10, before=first.next_before))

    assert [chain.first.id for chain in first + second] == [job.id for job in reversed(started)]


async def a_filtered_list_has_pages_too(harness: Harness) -> None:
    jobs = [await harness.started(new_job("ab"[number % 2])) for number in range(20)]
    page = await harness.perform(ListJobs(Filter(types=("b",)), limit=3))
    seen = list(page)

    while page.next_before is not None:
        page = await harness.perform(ListJobs(Filter(types=("b",)), limit=3, before=page.next_before))
        seen += page

    assert seen == jobs[::-2]


async def rows_are_filtered_by_status(harness: Harness) -> None:
    by_status = await _one_of_each(harness)

    for status, job_id in by_status.items():
        wanted = Filter(statuses=(status,))
        assert [job.id for job in await harness.perform(ListJobs(wanted, limit=10))] == [job_id]
        assert [chain.first.id for chain in await harness.perform(ListChains(wanted, limit=10))] == [job_id]
    both = Filter(statuses=(Status.FAILED, Status.RUNNING))
    assert {job.id for job in await harness.perform(ListJobs(both, limit=10))} == {
        by_status[Status.FAILED],
        by_status[Status.RUNNING],
    }


async def scheduled_jobs_are_pending_and_due_later(harness: Harness) -> None:
    await harness.start(new_job())
    later = await harness.started(new_job(delay=60))
    blocker = await harness.started(new_job("other"))
    await harness.start(new_job(delay=60, after=(blocker.id,)))
    waiting = await harness.claimed(new_job("publish"))
    await harness.settled(retrying(waiting, delay=60))
    wanted = Filter(statuses=(Status.PENDING,), scheduled=True)

    assert [job.id for job in await harness.perform(ListJobs(wanted, limit=10))] == [waiting.id, later.id]
    assert await listed_chains(harness, wanted) == [waiting.id, later.id]
    harness.clock.advance(60)
    assert await harness.perform(ListJobs(wanted, limit=10)) == []


async def all_jobs_of_a_chain_are_listed(harness: Harness) -> None:
    job = await harness.claimed()
    ids = [job.id]
    for _ in range(3):
        following = next_job(job, "resize")
        await harness.settled(continued(job, following))
        job = await harness.claim_one()
        ids.append(following.id)

    assert await listed_jobs(harness, Filter(chain_id=job.chain_id)) == ids[::-1]


async def chains_whose_keep_time_is_over_can_be_left_out(harness: Harness) -> None:
    brief = await harness.completed(new_job(key="k", keep=60))
    lost = await harness.claimed(new_job(key="k", keep=60))
    await harness.settled(failed(lost))
    unfinished = await harness.started(new_job(key="k", keep=0))
    kept = Filter(chain_types=("resize",), key="k", kept=True)

    harness.clock.advance(59.999999)
    assert await listed_chains(harness, kept) == [unfinished.id, lost.id, brief.id]
    harness.clock.advance(0.000001)
    assert await listed_chains(harness, kept) == [unfinished.id]
    assert await listed_chains(harness, Filter(kept=True)) == [unfinished.id]
    assert await listed_chains(harness, Filter(key="k")) == [unfinished.id, lost.id, brief.id]


async def jobs_that_wait_after_a_failed_attempt_are_listed_separately(harness: Harness) -> None:
    new = await harness.started(new_job("b"))
    failing = await harness.claimed(new_job("a"))
    await harness.settled(retrying(failing))
    later = await harness.claimed(new_job("c"))
    await harness.settled(rescheduled(later))
    done = await harness.completed(new_job("d"))
    others = [done.id, later.id, new.id]

    for read in (listed_jobs, listed_chains):
        assert await read(harness, Filter(failing=True)) == [failing.id]
        assert await read(harness, Filter(failing=False)) == others
        assert await read(harness, Filter(failing=True, types=("b",))) == []
        assert await read(harness, Filter(failing=True, statuses=(Status.COMPLETED,))) == []
        assert await read(harness, Filter(failing=False, statuses=(Status.PENDING,))) == [later.id, new.id]
        assert await read(harness, Filter(failing=False, statuses=(Status.PENDING, Status.COMPLETED))) == others


async def _one_of_each(harness: Harness) -> dict[Status, str]:
    done = await harness.claimed()
    await harness.settled(completed(done))
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    running = await harness.claimed()
    blocked = await harness.started(new_job(after=(running.id,)))
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,)))
    pending = await harness.started()
    return {
        Status.COMPLETED: done.id,
        Status.FAILED: lost.id,
        Status.RUNNING: running.id,
        Status.BLOCKED: blocked.id,
        Status.CANCELLED: dropped.id,
        Status.PENDING: pending.id,
    }
