"""Schedules through both clients, with a real worker: ticks, policies, changes at run time, declarations."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from holdfast import Attempt, Fail, ScheduleNotFound
from holdfast.core.schedule import TickCounts
from tests.conformance.client.async_adapters import AttemptAdapter
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.schedule_steps import HOUR, chain_ids, stored_schedule, tick_id


async def test_a_schedule_starts_a_chain_at_each_tick(harness: ClientHarness) -> None:
    ticks: list[Any] = []

    async def report(attempt: AttemptAdapter, number: int) -> int:
        ticks.append(attempt.attempt.tick)
        return number

    start = harness.time
    job = harness.job(report)
    made = await harness.client.schedule("hourly", job.bind(7), every=HOUR)
    assert (made.name, made.type, made.next_at, made.counts) == ("hourly", "report", start + HOUR, TickCounts(0, 0, 0))

    await harness.drain(until=start + 3 * HOUR)

    assert ticks == [start + n * HOUR for n in (1, 2, 3)]
    assert await chain_ids(harness, status="completed") == [tick_id(start + n * HOUR) for n in (1, 2, 3)]
    schedule = await stored_schedule(harness)
    assert (schedule.last_tick, schedule.last_chain) == (start + 3 * HOUR, tick_id(start + 3 * HOUR))
    assert (schedule.next_at, schedule.counts) == (start + 4 * HOUR, TickCounts(3, 0, 0))
    assert harness.time == start + 3 * HOUR


async def test_other_attempts_have_no_tick(harness: ClientHarness) -> None:
    async def report(attempt: AttemptAdapter, number: int) -> bool:
        return attempt.attempt.tick is None

    chain = await harness.client.start(harness.job(report).bind(7))
    await harness.drain()

    assert await harness.client.wait(chain, timeout=60) is True


async def test_advance_ignores_schedules(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    await harness.client.schedule("hourly", job.bind(7), every=60)
    await harness.client.start(job.bind(1), delay=600)

    ended = await harness.drain(advance=True)

    assert (len(ended), harness.time) == (1, start + timedelta(minutes=10))
    assert (await stored_schedule(harness)).counts == TickCounts(0, 0, 0)


@pytest.mark.parametrize(
    ("missed", "started", "counts"),
    [("latest", [5], TickCounts(1, 0, 4)), ("all", [3, 4, 5], TickCounts(3, 0, 2)), ("none", [], TickCounts(0, 0, 5))],
)
async def test_after_a_downtime_missed_ticks_follow_the_policy(
    harness: ClientHarness, missed: Any, started: list[int], counts: TickCounts
) -> None:
    job, start = harness.jobs.job(value), harness.time
    await harness.client.schedule(
        "hourly", job.bind(7), every=HOUR, missed=missed, overlap="allow", within=timedelta(hours=3)
    )
    harness.clock.advance(5 * HOUR + timedelta(minutes=30))

    await harness.drain()

    assert await chain_ids(harness, status="completed") == [tick_id(start + n * HOUR) for n in started]
    assert (await stored_schedule(harness)).counts == counts


async def test_many_missed_ticks_are_made_up_for_in_several_steps(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    await harness.client.schedule("often", job.bind(7), every=60, missed="all", overlap="allow")
    harness.clock.advance(120 * 60)

    await harness.drain(concurrency=50)

    assert len(await chain_ids(harness, status="completed")) == 120
    assert (await stored_schedule(harness, "often")).counts == TickCounts(120, 0, 0)


async def test_an_unfinished_chain_skips_ticks_or_is_cancelled(harness: ClientHarness) -> None:
    declared, start = harness.jobs.declare(value), harness.time  # no worker runs it, so its chains stay pending
    harness.jobs.job(name="other")(value)
    for overlap in ("skip", "queue", "allow", "cancel"):
        await harness.client.schedule(overlap, declared.bind(7), every=HOUR, overlap=overlap)

    await harness.drain(until=start + 3 * HOUR)

    counts = {each.name: each.counts for each in await harness.client.schedules()}
    assert counts == {
        "skip": TickCounts(1, 2, 0),
        "queue": TickCounts(1, 2, 0),
        "allow": TickCounts(3, 0, 0),
        "cancel": TickCounts(3, 0, 0),
    }
    assert await chain_ids(harness, status="cancelled") == [tick_id(start + n * HOUR, "cancel") for n in (1, 2)]
    cancelled = await harness.client.get(tick_id(start + HOUR, "cancel"))
    assert "next tick of schedule 'cancel'" in str(cancelled.error)


async def test_a_tick_waits_for_an_earlier_chain_that_sleeps(harness: ClientHarness) -> None:
    async def report(attempt: Attempt, number: int) -> int:
        await attempt.sleep("long", 2.5 * 3600)
        return number

    job, start = harness.jobs.job(report), harness.time
    await harness.client.schedule("hourly", job.bind(7), every=HOUR, overlap="queue")

    await harness.drain(until=start + 3 * HOUR)

    chains = [tick_id(start + n * HOUR) for n in (1, 2)]
    assert [(await harness.client.get(chain)).status for chain in chains] == ["pending", "blocked"]
    assert (await stored_schedule(harness)).counts == TickCounts(2, 1, 0)
    await harness.drain(until=start + 4 * HOUR)
    assert [(await harness.client.get(chain)).status for chain in chains] == ["completed", "pending"]


async def test_ticks_during_a_pause_are_skipped_and_not_made_up_for(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    await harness.client.schedule("hourly", job.bind(7), every=HOUR, missed="all")
    paused = await harness.client.pause_schedule("hourly", reason="migration")
    assert (paused.paused, paused.reason) == (True, "migration")

    await harness.drain(until=start + 2 * HOUR)
    assert (await stored_schedule(harness)).counts == TickCounts(0, 2, 0)
    harness.clock.advance(3 * HOUR)  # without a worker
    resumed = await harness.client.resume_schedule("hourly")

    assert (resumed.paused, resumed.reason, resumed.counts) == (False, None, TickCounts(0, 5, 0))
    assert resumed.next_at == start + 6 * HOUR
    await harness.drain(until=start + 6 * HOUR)
    assert await chain_ids(harness) == [tick_id(start + 6 * HOUR)]


async def test_fire_ignores_pause_and_overlap(harness: ClientHarness) -> None:
    declared, start = harness.jobs.declare(value), harness.time
    harness.jobs.job(name="other")(value)
    await harness.client.schedule("hourly", declared.bind(7), every=HOUR)
    await harness.drain(until=start + HOUR)
    await harness.client.pause_schedule("hourly")
    harness.clock.advance(1.5)

    chain = await harness.client.fire("hourly")

    assert chain.id == f"schedule:hourly:fire:{harness.time:%Y-%m-%dT%H:%M:%S.%f}Z"
    assert (chain.status, chain.type, chain.deduplicated) == ("pending", "value", False)
    assert chain.scheduled_at == harness.time
    assert len(await chain_ids(harness)) == 2
    assert "created" in [event.kind for event in harness.reported]


async def test_backfill_starts_the_ticks_that_do_not_exist(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    await harness.client.schedule("daily", job.bind(7), cron="30 2 * * *", tz="Europe/Paris")
    await harness.drain(until=start + timedelta(days=3))

    chains = await harness.client.backfill("daily", since=start - timedelta(days=2), until=harness.time)

    wanted = [start.replace(hour=1, minute=30) + timedelta(days=day) for day in (-2, -1)]
    assert [chain.id for chain in chains] == [tick_id(moment, "daily") for moment in wanted]
    assert (await stored_schedule(harness, "daily")).counts == TickCounts(5, 0, 0)
    assert await harness.client.backfill("daily", since=wanted[0], until=wanted[1]) == []
    await harness.drain()
    assert len(await chain_ids(harness, status="completed")) == 5


async def test_a_change_of_a_schedule_that_changes_nothing_leaves_no_entry_in_the_audit(harness: ClientHarness) -> None:
    report, client = harness.jobs.job(value), harness.client
    await client.schedule("daily", report.bind(1), cron="@daily")
    start, day = harness.time, timedelta(days=1)

    await client.resume_schedule("daily")
    await client.pause_schedule("daily", reason="migration")
    await client.pause_schedule("daily", reason="migration")
    await client.pause_schedule("daily", reason="another migration")
    await client.resume_schedule("daily")
    await client.resume_schedule("daily")
    assert len(await client.backfill("daily", since=start - 60 * day, until=start)) == 60
    assert await client.backfill("daily", since=start - 60 * day, until=start) == []
    assert len(await client.backfill("daily", since=start - 62 * day, until=start)) == 2

    assert [entry.action for entry in await client.audit()] == [
        *["backfill"] * 2, "resume_schedule", *["pause_schedule"] * 2
    ]  # fmt: skip
    (schedule,) = await client.schedules()
    assert schedule.counts.started == 62


async def test_a_backfill_includes_since_and_not_until(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    await harness.client.schedule("daily", job.bind(7), cron="@daily")

    chains = await harness.client.backfill("daily", since=start - timedelta(days=2), until=start)

    assert [chain.id for chain in chains] == [tick_id(start - timedelta(days=day), "daily") for day in (2, 1)]


async def test_bad_backfills_are_refused(harness: ClientHarness) -> None:
    start = harness.time
    await harness.client.schedule("often", harness.jobs.job(value).bind(7), cron="* * * * *")

    with pytest.raises(ValueError, match="future"):
        await harness.client.backfill("often", since=start, until=start + HOUR)
    with pytest.raises(ValueError, match="earlier"):
        await harness.client.backfill("often", since=start, until=start - HOUR)
    with pytest.raises(ValueError, match="in parts"):
        await harness.client.backfill("often", since=start - timedelta(days=30), until=start)
    with pytest.raises(ValueError, match=r"since.*no time zone"):
        await harness.client.backfill("often", since=start.replace(tzinfo=None), until=start)
    assert await chain_ids(harness) == []


async def test_an_unknown_schedule_is_not_found(harness: ClientHarness) -> None:
    client = harness.client
    for call in (client.unschedule, client.fire, client.pause_schedule, client.resume_schedule):
        with pytest.raises(ScheduleNotFound, match="no schedule 'nightly'"):
            await call("nightly")
    with pytest.raises(ScheduleNotFound):
        await client.backfill("nightly", since=harness.time, until=harness.time)


async def test_a_schedule_is_changed_and_removed_at_run_time(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    await harness.client.schedule("hourly", job.bind(7), every=HOUR)
    await harness.drain(until=start + HOUR)

    changed = await harness.client.schedule("hourly", job.bind(8), cron="0 12 * * *", tz="Asia/Tokyo")
    assert (changed.cron, changed.every, changed.tz, changed.counts.started) == ("0 12 * * *", None, "Asia/Tokyo", 1)
    await harness.drain(until=start + timedelta(days=1))
    assert (await harness.client.get(changed_id := tick_id(start.replace(hour=3)))).output == 8, changed_id

    await harness.client.unschedule(await stored_schedule(harness))
    assert await harness.client.schedules() == []
    await harness.drain(until=harness.time + timedelta(days=1))
    assert len(await chain_ids(harness)) == 2


async def test_a_waiting_tick_runs_after_the_earlier_chain_has_failed(harness: ClientHarness) -> None:
    ran: list[datetime | None] = []

    async def report(attempt: AttemptAdapter, number: int) -> int:
        ran.append(attempt.attempt.tick)
        if len(ran) == 1:
            raise Fail("on purpose")
        return number

    job, start = harness.job(report), harness.time
    await harness.client.schedule("hourly", job.bind(7), every=HOUR, overlap="queue", missed="all")
    harness.clock.advance(2 * HOUR + timedelta(minutes=30))

    await harness.drain()

    assert ran == [start + HOUR, start + 2 * HOUR]
    assert await chain_ids(harness, status="failed") == [tick_id(start + HOUR)]
    assert await chain_ids(harness, status="completed") == [tick_id(start + 2 * HOUR)]
