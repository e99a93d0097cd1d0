"""Counters and errors of real attempts, on every store, async and blocking."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast import Fail, Reschedule, Retry
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, value


async def test_counters_say_what_happened_per_type_and_minute(harness: ClientHarness) -> None:
    double = harness.jobs.job(value)
    for number in range(3):
        await harness.client.start(double.bind(number))
    await harness.drain()
    harness.clock.advance(60)
    await harness.client.cancel(await harness.client.start(double.bind(9)))

    counters = await harness.client.counters()

    (row,) = counters.types.values()
    assert (row.type, row.counts.started, row.counts.completed, row.counts.cancelled) == ("value", 4, 3, 1)
    assert [(each.counts.completed, each.counts.cancelled) for each in row.minutes] == [(3, 0), (0, 1)]
    assert row.minutes[1].at - row.minutes[0].at == timedelta(minutes=1)
    assert (counters.counts, counters.total) == (row.counts, row.total)
    assert row.counts.runs.count == 3
    assert counters.until == harness.time
    assert (await harness.client.counters(type="other")).types == {}
    recent = await harness.client.counters(since=harness.time)
    assert (recent.types["value"].counts.completed, recent.types["value"].total.completed) == (0, 3)


async def test_numbers_per_minute_are_refused_for_more_than_a_day(harness: ClientHarness) -> None:
    since = harness.time - timedelta(hours=25)

    for read in (harness.client.counters, harness.client.errors):
        with pytest.raises(ValueError, match="last 24 hours"):
            await read(since=since)
        with pytest.raises(ValueError, match="no time zone"):
            await read(since=since.replace(tzinfo=None))
    with pytest.raises(ValueError, match="limit"):
        await harness.client.errors(limit=0)


async def test_every_kind_of_failure_of_a_handler_is_counted(harness: ClientHarness) -> None:
    async def pay(order: int) -> None:
        if order == 1:
            raise Fail("refused")
        if order == 2:
            raise Reschedule(3600)
        raise RuntimeError(f"no money for order {order}")

    charge = harness.jobs.job(retry=Retry(initial=0.5, jitter=0, max_attempts=2))(pay)
    for order in (1, 2, 3, 4):
        await harness.client.start(charge.bind(order))
    await harness.drain()
    harness.clock.advance(1)
    await harness.drain()

    counts = (await harness.client.counters()).counts
    assert (counts.failed, counts.rescheduled, counts.retried) == (3, 1, 2)
    money, refused = await harness.client.errors()
    assert (money.failed, money.retried, money.count) == (2, 2, 4)
    assert (money.type, money.exception, money.message) == ("pay", "RuntimeError", "no money for order N")
    assert money.frame.endswith("test_counters.py:pay")
    assert money.last - money.first == timedelta(seconds=1)
    assert (refused.exception, refused.failed) == ("Fail", 1)
    assert await harness.client.errors(limit=1) == [money]
    assert await harness.client.errors(type="other") == []


async def test_the_failed_jobs_of_a_group_are_listed_by_its_fingerprint(harness: ClientHarness) -> None:
    async def pay(order: int) -> None:
        raise Fail("even" if order % 2 == 0 else "odd")

    charge = harness.jobs.job(pay)
    chains = [await harness.client.start(charge.bind(order)) for order in range(4)]
    await harness.drain(concurrency=1)

    groups = {each.message: each for each in await harness.client.errors()}

    page = await harness.client.list_chains(fingerprint=groups["odd"].fingerprint)
    assert {chain.id for chain in page.items} == {chains[1].id, chains[3].id}
    jobs = await harness.client.list_jobs(fingerprint=groups["even"].fingerprint, status="failed")
    assert {job.id for job in jobs.items} == {chains[0].id, chains[2].id}
    assert groups["odd"].example in {chains[1].id, chains[3].id}
    assert (await harness.client.list_chains(fingerprint="unknown")).items == []


async def test_an_aborted_completion_is_not_counted(harness: ClientHarness) -> None:
    async def body(attempt: AttemptAdapter, number: int) -> int:
        async with attempt.complete() as done:
            done.output(1)
        raise RuntimeError("after the block")

    chain = await harness.client.start(harness.job(body, retry=Retry(max_attempts=1)).bind(1))
    await harness.drain()

    counts = (await harness.client.counters()).counts
    assert (await harness.now(chain)).status == "failed"
    assert (counts.started, counts.completed, counts.failed) == (1, 0, 1)
