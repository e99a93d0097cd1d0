"""Filters of a list: type, chain, key, times, error and worker, and short pages where no index helps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from holdfast.core import failure
from holdfast.core.clock import SECOND
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record, Status
from holdfast.engine.operations import CancelChains, Filter, ListChains, Listing, ListJobs, Operation
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.conformance.lists import listed_chains, listed_jobs

T = TypeVar("T")


async def a_chain_has_the_type_of_its_last_job_and_the_chain_type_of_its_first(harness: Harness) -> None:
    one = await harness.claimed(new_job("a"))
    await harness.settled(continued(one, next_job(one, "c")))
    two = await harness.completed(new_job("b"))
    three = await harness.started(new_job("a"))

    assert await listed_chains(harness, Filter(types=("a",))) == [three.id]
    assert await listed_chains(harness, Filter(types=("c",))) == [one.id]
    assert await listed_chains(harness, Filter(types=("b", "c"))) == [two.id, one.id]
    assert await listed_chains(harness, Filter(chain_types=("a",))) == [three.id, one.id]
    assert await listed_chains(harness, Filter(chain_types=("a",), types=("c",))) == [one.id]
    assert await listed_chains(harness, Filter(statuses=(Status.PENDING,), types=("c",))) == [one.id]
    assert await listed_chains(harness, Filter(statuses=(Status.PENDING,), chain_types=("a",))) == [three.id, one.id]
    assert await listed_chains(harness, Filter(statuses=(Status.COMPLETED,), types=("a",))) == []


async def rows_are_filtered_by_type_chain_and_key(harness: Harness) -> None:
    one = await harness.claimed(new_job("a", key="k"))
    await harness.settled(continued(one, next_job(one, "c")))
    last = (await harness.chain(one.id)).last
    two, three = await harness.started(new_job("b", key="k")), await harness.started(new_job("b"))

    assert await listed_jobs(harness, Filter(types=("a", "c"))) == [last.id, one.id]
    assert await listed_jobs(harness, Filter(chain_id=one.id)) == [last.id, one.id]
    assert await listed_jobs(harness, Filter(key="k")) == [two.id, one.id]
    assert await listed_jobs(harness, Filter(key="k", types=("b",))) == [two.id]
    assert await listed_jobs(harness, Filter(key="unknown's")) == []
    assert await listed_chains(harness, Filter(chain_types=("b", "c"))) == [three.id, two.id]
    assert await listed_chains(harness, Filter(chain_id=two.id)) == [two.id]
    assert await listed_chains(harness, Filter(key="k")) == [two.id, one.id]
    assert await listed_chains(harness, Filter(key="k", chain_types=("a",))) == [one.id]
    assert await listed_chains(harness, Filter(key="k", types=("c",))) == [one.id]


async def rows_are_filtered_by_a_period_of_creation(harness: Harness) -> None:
    jobs: list[Record] = []
    for _ in range(4):
        jobs.append(await harness.started())
        harness.clock.advance(1)
    wanted = Filter(created_since=jobs[1].created_at, created_until=jobs[3].created_at)

    assert await listed_jobs(harness, wanted) == [jobs[2].id, jobs[1].id]
    assert await listed_chains(harness, wanted) == [jobs[2].id, jobs[1].id]
    assert await listed_jobs(harness, Filter(created_since=harness.clock() - SECOND)) == [jobs[3].id]


async def a_chain_was_created_when_its_first_job_was(harness: Harness) -> None:
    job = await harness.claimed()
    harness.clock.advance(10)
    await harness.settled(continued(job, next_job(job, "publish")))

    assert await listed_chains(harness, Filter(created_since=harness.clock())) == []
    assert len(await listed_jobs(harness, Filter(created_since=harness.clock()))) == 1


async def rows_are_filtered_by_the_time_of_their_end(harness: Harness) -> None:
    early = await harness.claimed()
    await harness.settled(failed(early))
    done = await harness.completed()
    harness.clock.advance(10)
    since = harness.clock()
    late = await harness.claimed()
    await harness.settled(failed(late))
    waiting = await harness.claimed()
    await harness.settled(retrying(waiting))
    done_late = await harness.claim_one()
    await harness.settled(completed(done_late))
    dropped = await harness.started()
    await harness.perform(CancelChains((dropped.id,)))
    await harness.start(new_job())

    for read in (listed_jobs, listed_chains):
        assert await read(harness, Filter(failed_since=since)) == [late.id]
        assert await read(harness, Filter(failed_since=since - 10 * SECOND)) == [late.id, early.id]
        assert await read(harness, Filter(failed_since=since + 1)) == []
        assert await read(harness, Filter(failed_since=since, statuses=(Status.CANCELLED,))) == []
        assert await read(harness, Filter(failed_since=since, statuses=(Status.CANCELLED, Status.FAILED))) == [late.id]
        assert await read(harness, Filter(finished_since=since)) == [dropped.id, done_late.id, late.id]
        completions = Filter(finished_since=since - 10 * SECOND, statuses=(Status.COMPLETED,))
        assert await read(harness, completions) == [done_late.id, done.id]
        assert await read(harness, Filter(finished_since=since, statuses=(Status.PENDING,))) == []


async def rows_are_filtered_by_a_part_of_the_error_in_any_case(harness: Harness) -> None:
    quoted = await _failed(harness, "ValueError", 'no "luck" today\nnor \\ tomorrow')
    bare = await _failed(harness, "KeyError", "", trace="in the traceback: luck")
    accents = await _failed(harness, "Fehler", "Überlauf 100% [a-z]")
    await harness.completed()
    waiting = await harness.claimed()
    await harness.settled(retrying(waiting, error="Luck is out"))

    for read in (listed_jobs, listed_chains):
        assert await read(harness, Filter(error="LUCK")) == [waiting.id, quoted.id]
        assert await read(harness, Filter(error='valueerror: NO "luck" today\nNOR \\')) == [quoted.id]
        assert await read(harness, Filter(error="keyerror")) == [bare.id]
        assert await read(harness, Filter(error="keyerror:")) == []
        assert await read(harness, Filter(error="überLAUF")) == [accents.id]
        assert await read(harness, Filter(error="ÜBERLAUF 100% [A-Z]")) == [accents.id]
        assert await read(harness, Filter(error="100_")) == []
        assert await read(harness, Filter(error="luck", statuses=(Status.FAILED,))) == [quoted.id]
        assert await read(harness, Filter(error="luck", statuses=(Status.COMPLETED,))) == []


async def the_error_of_a_chain_is_that_of_its_last_job(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.settled(retrying(job, error="at first"))
    job = await harness.claim_one()
    await harness.settled(continued(job, next_job(job, "publish")))
    second = await harness.claim_one("publish")
    await harness.settled(failed(second, "at last"))

    assert await listed_chains(harness, Filter(error="at first")) == []
    assert await listed_chains(harness, Filter(error="at last")) == [job.id]
    assert await listed_chains(harness, Filter(error="at last", chain_types=("resize",))) == [job.id]


async def rows_are_filtered_by_the_worker_that_holds_or_completed_them(harness: Harness) -> None:
    done = await harness.claimed(worker="one")
    await harness.settled(completed(done))
    running = await harness.claimed(worker="two")
    other = await harness.claimed(worker="one")
    lost = await harness.claimed(worker="two")
    await harness.settled(failed(lost))

    for read in (listed_jobs, listed_chains):
        assert await read(harness, Filter(worker="one")) == [other.id, done.id]
        assert await read(harness, Filter(worker="two")) == [running.id]
        assert await read(harness, Filter(worker="one", statuses=(Status.RUNNING,))) == [other.id]
        assert await read(harness, Filter(worker="One")) == []


async def a_page_that_reads_few_rows_is_short_and_the_pages_together_are_complete(harness: Harness) -> None:
    wanted: list[str] = []
    for number in range(24):
        job = await harness.claimed(new_job("ab"[number % 2]))
        outcome = failed(job, "rare") if number in (1, 7, 20) else completed(job) if number % 3 else failed(job)
        await harness.settled(outcome)
        if number in (1, 7, 20):
            wanted.insert(0, job.id)
    everything = [job.id for job in await harness.everything()]

    for shown, expected in (
        (Filter(error="RARE"), wanted),
        (Filter(error="rare", statuses=(Status.FAILED,)), wanted),
        (Filter(error="rare", statuses=(Status.FAILED, Status.COMPLETED)), wanted),
        (Filter(types=("b",)), everything[::2]),
        (Filter(finished_since=0), everything),
    ):
        jobs = await _all_pages(harness, partial(ListJobs, shown, 2, scan=3))
        chains = await _all_pages(harness, partial(ListChains, shown, 2, scan=3))
        assert [job.id for job in jobs] == expected
        assert [chain.first.id for chain in chains] == expected


async def chains_are_listed_by_their_first_job_even_if_their_last_jobs_are_much_newer(harness: Harness) -> None:
    first = [await harness.claimed(new_job("a")) for _ in range(12)]
    single = await harness.claimed(new_job("single"))
    await harness.settled(failed(single, "rare"))
    for job in reversed(first):
        await harness.settled(continued(job, next_job(job, "b")))
    for job in await harness.claim("b", limit=12):
        await harness.settled(failed(job, "rare"))

    expected = [single.id, *(job.id for job in reversed(first))]
    of_any_type = ("a", "single")
    for shown in (
        Filter(statuses=(Status.FAILED,)),
        Filter(statuses=(Status.FAILED,), error="rare"),
        Filter(statuses=(Status.FAILED,), chain_types=of_any_type),
    ):
        chains = await _all_pages(harness, partial(ListChains, shown, 2, scan=3))
        assert [chain.first.id for chain in chains] == expected


async def the_end_of_a_list_is_known(harness: Harness) -> None:
    for _ in range(4):
        await harness.start(new_job())

    listed = await harness.perform(ListJobs(Filter(), limit=4))
    assert (len(listed), listed.next_before) == (4, None)
    part = await harness.perform(ListChains(Filter(types=("resize",)), limit=3))
    assert (len(part), part.next_before is None) == (3, False)
    rest = await harness.perform(ListChains(Filter(types=("resize",)), limit=3, before=part.next_before))
    assert (len(rest), rest.next_before) == (1, None)


async def _failed(harness: Harness, type: str, message: str, *, trace: str = "") -> Record:
    job = await harness.claimed()
    error = failure.write(type, message, trace)
    await harness.settled(Settlement(job.claim, Status.FAILED, "failed", error=error))
    return job


async def _all_pages(harness: Harness, page_before: Callable[..., Operation[Listing[T]]]) -> list[T]:
    page = await harness.perform(page_before(before=None))
    rows = list(page)
    while page.next_before is not None:
        before, page = page.next_before, await harness.perform(page_before(before=page.next_before))
        assert page.next_before is None or page.next_before < before, "the list would not end"
        rows += page
    return rows
