"""get, list, report, stats and progress."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Bound, Fail, Reschedule, Status
from holdfast.core.waiting_cycles import MOST_CHAINS
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, in_time, value


@dataclass(frozen=True)
class Box:
    size: int
    age: timedelta


async def test_unknown_ids_give_none(harness: ClientHarness) -> None:
    assert await harness.client.get("nothing") is None
    assert await harness.client.get_job("nothing") is None
    assert await harness.client.report("nothing") is None


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800"], ids=["empty", "NUL", "lone surrogate"])
async def test_text_that_no_store_can_contain_is_refused_on_every_store(harness: ClientHarness, name: str) -> None:
    client = harness.client
    calls = [client.get, client.get_job, client.report, client.cancel, client.retry, client.run_now, client.pause]

    for call in calls:
        with pytest.raises(ValueError, match=r"chain|job|type"):
            await call(name)
    with pytest.raises(ValueError, match="chain"):
        await client.delete([name])
    with pytest.raises(ValueError, match="key"):
        await client.list_chains(key=name)
    with pytest.raises(ValueError, match="type"):
        await client.list_jobs(type=name)


async def test_a_chain_shows_its_last_job(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(5)

    second = harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind())
    await harness.drain()

    found = await harness.client.get(chain)
    assert (found.id, found.type, found.status, found.output) == (chain.id, "first", "completed", 5)
    assert (found.first_job.type, found.first_job.output) == ("first", None)
    assert (found.job.type, found.job.index, found.job.output) == ("second", 1, 5)
    assert await harness.client.get(found.job.id) is None
    assert (await harness.client.get_job(found.job)).chain_id == chain.id
    assert found.finished_at == harness.time


async def test_typed_values_come_back_as_they_were(harness: ClientHarness) -> None:
    @harness.jobs.job
    async def grow(box: Box) -> Box:
        return Box(box.size + 1, box.age)

    chain = await harness.client.start(grow.bind(Box(1, timedelta(seconds=3))))
    await harness.drain()

    found = await harness.client.get(chain)
    assert found.job.input == {"box": Box(1, timedelta(seconds=3))}
    assert found.output == Box(2, timedelta(seconds=3))
    assert await harness.client.wait(chain) == Box(2, timedelta(seconds=3))


async def test_listings_are_newest_first_and_pages_fit_together(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    chains = await harness.client.start_many([double.bind(number) for number in range(25)])

    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = await harness.client.list_chains(limit=10, cursor=cursor)
        pages.append([chain.id for chain in page.items])
        if not pages[1:]:
            # Rows that are created or deleted meanwhile cause no duplicate and no gap.
            await harness.client.start_many([double.bind(0) for _ in range(5)])
            await harness.client.delete([chains[24], chains[15]])
        if (cursor := page.next_cursor) is None:
            break

    assert [len(page) for page in pages] == [10, 10, 5]
    assert [id for page in pages for id in page] == [chain.id for chain in reversed(chains)]


async def test_a_full_last_page_has_no_next(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    await harness.client.start_many([double.bind(number) for number in range(10)])

    page = await harness.client.list_jobs(limit=10)

    assert (len(page.items), page.next_cursor) == (10, None)


async def test_listings_filter(harness: ClientHarness) -> None:
    double, other = harness.jobs.job(value), harness.jobs.job(name="other")(value)
    done = await harness.client.start(double.bind(1), key="a")
    await harness.drain()
    harness.clock.advance(10)
    middle = harness.time
    due = await harness.client.start(other.bind(1), key="a")
    harness.clock.advance(10)
    later = await harness.client.start(double.bind(1), delay=100)
    gone = await harness.client.start(double.bind(1))
    await harness.client.cancel(gone)

    async def ids(**filters: Any) -> list[str]:
        chains = [chain.id for chain in (await harness.client.list_chains(**filters)).items]
        assert [job.id for job in (await harness.client.list_jobs(**filters)).items] == chains
        return chains

    assert await ids() == [gone.id, later.id, due.id, done.id]
    assert await ids(status="completed") == [done.id]
    assert await ids(status=Status.PENDING) == [later.id, due.id]
    assert await ids(status=["completed", "cancelled"]) == [gone.id, done.id]
    assert await ids(status="scheduled") == [later.id]
    assert await ids(type="other") == await ids(type=other) == [due.id]
    assert await ids(type=[double, "other"]) == [gone.id, later.id, due.id, done.id]
    assert await ids(key="a") == [due.id, done.id]
    assert await ids(key="a", type=double) == [done.id]
    assert await ids(created_since=middle) == [gone.id, later.id, due.id]
    assert await ids(created_until=middle) == [done.id]
    assert await ids(created_since=middle, created_until=middle + timedelta(seconds=1)) == [due.id]
    assert await ids(finished_since=middle) == [gone.id]
    assert await ids(failed_since=middle) == []
    assert await ids(error="CANCELLED BY") == [gone.id]
    assert await ids(worker="another") == []
    harness.clock.advance(100)
    assert await ids(status="scheduled") == []


async def test_a_chain_has_the_status_and_type_of_its_last_job(
    harness: ClientHarness,
) -> None:
    @harness.jobs.job
    async def first() -> Bound[int]:
        return second.bind(5).options(delay=100)

    second = harness.jobs.job(name="second")(value)
    chain = await harness.client.start(first.bind(), key="k")
    await harness.drain()

    async def ids(**filters: Any) -> list[str]:
        return [each.id for each in (await harness.client.list_chains(**filters)).items]

    assert await ids(status="scheduled", chain_type="first") == await ids(chain_type=first) == [chain.id]
    assert await ids(status="scheduled", type="second") == await ids(type=second) == [chain.id]
    assert await ids(status="completed") == await ids(type="first") == await ids(chain_type="second") == []
    jobs = (await harness.client.list_jobs(chain=chain)).items
    assert [(job.type, job.status) for job in jobs] == [("second", "pending"), ("first", "completed")]
    assert [job.type for job in (await harness.client.list_jobs(chain=jobs[0], status="scheduled")).items] == ["second"]


async def test_listings_refuse_what_they_do_not_know(harness: ClientHarness) -> None:
    with pytest.raises(ValueError, match="no status"):
        await harness.client.list_chains(status="done")
    with pytest.raises(ValueError, match="stands alone"):
        await harness.client.list_jobs(status=["scheduled", "failed"])
    for limit in (0, 1001):
        with pytest.raises(ValueError, match="limit"):
            await harness.client.list_chains(limit=limit)
    for cursor in ("x", "-1", "1.5", "²"):
        with pytest.raises(ValueError, match="cursor"):
            await harness.client.list_jobs(cursor=cursor)


async def test_a_report_lists_every_attempt(harness: ClientHarness) -> None:
    async def eventful(attempt: AttemptAdapter, number: int) -> str:
        match attempt.job.attempt:
            case 1:
                raise ValueError("first")
            case 2:
                raise Reschedule(delay=5)
            case _:
                return "done"

    chain = await harness.client.start(harness.job(eventful).bind())
    await harness.drain(advance=True)

    report = await harness.client.report(chain.id)
    assert report.job.id == chain.id
    assert [(each.number, each.outcome) for each in report.attempts] == [
        (1, "failed"),
        (2, "rescheduled"),
        (3, "completed"),
    ]
    assert str(report.attempts[0].error) == "ValueError: first"
    assert [each.error for each in report.attempts[1:]] == [None, None]
    assert len({each.worker for each in report.attempts}) == 1
    assert report.attempts[0].next_at == report.attempts[1].started_at
    assert (report.attempts[1].next_at - report.attempts[1].ended_at).total_seconds() == 5
    assert all(each.started_at <= each.ended_at for each in report.attempts)


async def test_a_report_of_a_job_that_never_ran_and_of_one_that_runs(harness: ClientHarness) -> None:
    running, go_on = asyncio.Event(), asyncio.Event()

    @harness.jobs.job
    async def slow() -> None:
        running.set()
        await go_on.wait()

    chain = await harness.client.start(slow.bind())
    assert (await harness.client.report(chain.job)).attempts == []

    async with harness.worker(worker_id="me"):
        await in_time(running.wait())
        report = await harness.client.report(chain.job)
        go_on.set()

    assert [(each.number, each.worker, each.outcome) for each in report.attempts] == [(1, "me", "running")]
    assert (report.attempts[0].started_at, report.attempts[0].ended_at) == (harness.time, None)


async def test_stats_count_by_status_and_type(harness: ClientHarness) -> None:
    async def fail(attempt: AttemptAdapter, number: int) -> None:
        raise Fail

    double, failing = harness.jobs.job(value), harness.job(fail)
    await harness.client.start(double.bind(1))
    await harness.client.start(failing.bind())
    await harness.drain()
    harness.clock.advance(5)
    due = await harness.client.start(double.bind(1))
    harness.clock.advance(5)
    await harness.client.start(double.bind(1))
    await harness.client.start(double.bind(1), delay=60)
    await harness.client.start(failing.bind(), after=[due])
    await harness.client.pause("fail")

    stats = await harness.client.stats()

    assert {status: count for status, count in stats.counts.items() if count} == {
        Status.COMPLETED: 1,
        Status.FAILED: 1,
        Status.PENDING: 3,
        Status.BLOCKED: 1,
    }
    assert (stats.due, stats.types["value"].due, stats.types["value"].scheduled) == (2, 2, 1)
    assert stats.types["value"].oldest_due == due.job.record.scheduled_at
    assert (stats.types["value"].paused, stats.types["fail"].paused) == (False, True)
    assert sum(stats.counts.values()) == sum(sum(each.counts.values()) for each in stats.types.values()) == 6


async def test_paused_jobs_are_not_due(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    await harness.client.start(double.bind(1))
    await harness.client.pause(double)

    assert (await harness.client.stats()).due == 0


async def test_examine_returns_findings(harness: ClientHarness) -> None:
    findings = await harness.client.examine()

    assert {finding.level for finding in findings} <= {"ok", "warning", "error"}
    assert all(finding.subject and finding.detail for finding in findings)


async def test_a_cycle_that_was_too_long_to_be_refused_is_found_by_examine(harness: ClientHarness) -> None:
    step = harness.jobs.job(value)
    chain = await harness.client.start(step.bind(0), id="chain-0")
    others = [step.bind(n).options(id=f"chain-{n}", after=[f"chain-{n - 1}"]) for n in range(1, MOST_CHAINS + 3)]
    await harness.client.start_many(others)
    assert _cycles(await harness.client.examine()) == [("ok", "none")]

    async with harness.client.completing(chain) as current:
        await current.continue_with(step.bind(1), after=[f"chain-{MOST_CHAINS + 2}"])

    ((level, detail),) = _cycles(await harness.client.examine())
    assert level == "error"
    assert f"({MOST_CHAINS - 3} more)" in detail


def _cycles(findings: Any) -> list[tuple[str, str]]:
    return [(finding.level, finding.detail) for finding in findings if finding.subject == "dependency cycles"]


async def test_progress_is_seen(harness: ClientHarness) -> None:
    async def long(attempt: AttemptAdapter, number: int) -> None:
        await attempt.progress(0.25)
        await attempt.progress(0.4, "resizing")

    chain = await harness.client.start(harness.job(long).bind())
    await harness.drain()

    job = await harness.now(chain)
    assert (job.progress, job.progress_note) == (0.4, "resizing")
