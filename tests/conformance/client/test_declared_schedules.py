"""Schedules that a registry declares: written by workers, changed with the code, orphaned without it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast import Client, Jobs, Worker
from holdfast.core.schedule import TickCounts
from holdfast.testing import drain
from tests.conformance.client.harness import ClientHarness, in_time, value
from tests.conformance.client.schedule_steps import HOUR, stored_schedule, until


async def test_declared_schedules_are_written_by_workers_and_by_clients_that_migrate(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)
    assert await harness.client.schedules() == []

    async with Client(harness.store, harness.jobs, migrate=True):
        assert [each.name for each in await harness.client.schedules()] == ["hourly"]

    harness.jobs.schedule("daily", job.bind(7), cron="@daily")
    async with harness.worker():
        await until(harness, "daily", lambda each: True)


async def test_a_changed_declaration_changes_the_row_and_an_unchanged_one_keeps_the_next_tick(
    harness: ClientHarness,
) -> None:
    job, start = harness.jobs.job(value), harness.time
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)
    await harness.drain()
    for _ in range(3):  # deployments more frequent than the interval do not delay the tick
        harness.clock.advance(timedelta(minutes=15))
        await harness.drain()
    assert (await stored_schedule(harness)).next_at == start + HOUR

    changed = Jobs()
    changed.include(_types_only(harness.jobs))
    changed.schedule("hourly", job.bind(8), every=HOUR, overlap="queue")
    async with Client(harness.store, changed, migrate=True):
        schedule = await stored_schedule(harness)

    assert (schedule.next_at, schedule.overlap) == (start + HOUR, "queue")


def _types_only(jobs: Jobs) -> Jobs:
    made = Jobs()
    for job_type in jobs:
        made.add(job_type)
    return made


async def test_a_declared_schedule_is_not_changed_or_removed_at_run_time(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)
    await harness.drain()

    with pytest.raises(ValueError, match=r"declared by the registry 'default'.*pause"):
        await harness.client.unschedule("hourly")
    with pytest.raises(ValueError, match="declared by the registry 'default'"):
        await harness.client.schedule("hourly", job.bind(7), every=60)


async def test_a_name_of_another_owner_stops_the_worker(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    await harness.client.schedule("hourly", job.bind(7), every=HOUR)
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)

    with pytest.raises(ValueError, match="created at run time: choose another name"):
        await in_time(Worker(harness.workers_client).run(signals=False))


async def test_a_schedule_without_a_declaration_is_orphaned_until_it_is_declared_again(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)
    await harness.drain()
    await harness.client.schedule("tenant", job.bind(7), every=HOUR)
    other = Jobs(name="other")
    other.include(_types_only(harness.jobs))
    other.schedule("zebra", job.bind(7), every=1000 * HOUR)
    async with Worker(Client(harness.store, other), poll_interval=0.1, grace=1):
        await until(harness, "zebra", lambda each: True)
    assert not (await stored_schedule(harness)).orphaned

    without = _types_only(harness.jobs)
    async with Worker(Client(harness.store, without), poll_interval=0.1, grace=1):
        await until(harness, "hourly", lambda each: each.orphaned)
        harness.clock.advance(2 * HOUR)
        await until(harness, "tenant", lambda each: each.counts.started > 0)

    schedule = await stored_schedule(harness)
    assert (schedule.orphaned, schedule.counts, schedule.next_at) == (True, TickCounts(0, 0, 0), start + HOUR)
    await harness.drain()
    again = await stored_schedule(harness)
    assert (again.orphaned, again.next_at, again.counts) == (False, start + 3 * HOUR, TickCounts(0, 0, 0))


async def test_a_drain_without_the_declaration_orphans_a_schedule(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    for number in range(5):  # enough writes to be stopped between two of them
        harness.jobs.schedule(f"hourly {number}", job.bind(7), every=HOUR)
    await harness.drain()

    await drain(Client(harness.store, _types_only(harness.jobs)))

    assert [each.orphaned for each in await harness.client.schedules()] == [True] * 5


async def test_an_orphaned_schedule_may_be_removed(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)
    await harness.drain()
    async with Worker(Client(harness.store, _types_only(harness.jobs)), poll_interval=0.1, grace=1):
        await until(harness, "hourly", lambda each: each.orphaned)

    await harness.client.unschedule("hourly")

    assert await harness.client.schedules() == []


async def test_a_schedule_that_a_live_worker_declares_is_not_orphaned(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR)
    without = _types_only(harness.jobs)
    without.schedule("zebra", job.bind(7), every=HOUR)
    async with harness.worker():
        await until(harness, "hourly", lambda each: True)
        async with Worker(Client(harness.store, without), poll_interval=0.1, grace=1):
            await until(harness, "zebra", lambda each: True)
            # The worker writes what it declares first, and then looks for orphans: its tick comes after both.
            harness.clock.advance(HOUR)
            await until(harness, "zebra", lambda each: each.counts.started > 0)

    assert not (await stored_schedule(harness)).orphaned
    async with Worker(Client(harness.store, without), poll_interval=0.1, grace=1):
        await until(harness, "hourly", lambda each: each.orphaned)
