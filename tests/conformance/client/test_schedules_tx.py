"""Schedules that change in the application's own transaction. SQL stores only."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from holdfast import Event
from holdfast.core.schedule import TickCounts
from tests.conformance.client.application import Application
from tests.conformance.client.harness import ClientHarness, in_time, value
from tests.conformance.client.transactional import application as application
from tests.conformance.client.transactional import make_store as make_store

HOUR = timedelta(hours=1)


async def test_a_schedule_commits_with_the_applications_rows(harness: ClientHarness, application: Application) -> None:
    job, start = harness.jobs.job(value), harness.time

    async with application.transaction() as tx:
        await application.note(tx, "a tenant")
        await harness.client.schedule("tenant-7", job.bind(7), every=HOUR, tx=tx)
        fired = await harness.client.fire("tenant-7", tx=tx)
        assert [each.name for each in await harness.client.schedules(tx=tx)] == ["tenant-7"]
        assert await harness.client.schedules() == []

    assert await application.notes() == ["a tenant"]
    assert (await harness.client.get(fired)).status == "pending"
    await harness.drain(until=start + HOUR)
    assert [each.counts.started for each in await harness.client.schedules()] == [2]


async def test_changes_of_a_schedule_roll_back_with_the_applications_rows(
    harness: ClientHarness, application: Application
) -> None:
    job = harness.jobs.job(value)
    before = await harness.client.schedule("tenant-7", job.bind(7), every=HOUR)

    async def change() -> None:
        async with application.transaction() as tx:
            await harness.client.pause_schedule("tenant-7", tx=tx)
            await harness.client.fire("tenant-7", tx=tx)
            await harness.client.schedule("other", job.bind(7), every=HOUR, tx=tx)
            await harness.client.unschedule("tenant-7", tx=tx)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await change()

    assert await harness.client.schedules() == [before]
    assert (await harness.client.list_chains()).items == []


# SQLite has one writer at a time, so there a tick does wait.
@pytest.mark.parametrize("make_store", ["postgres"], indirect=True)
async def test_a_tick_does_not_wait_for_an_open_transaction(harness: ClientHarness, application: Application) -> None:
    job = harness.jobs.job(value)
    await harness.client.schedule("held", job.bind(7), every=HOUR)
    await harness.client.schedule("free", job.bind(7), every=HOUR)
    ticked = asyncio.Event()

    def observe(event: Event) -> None:
        if event.kind == "completed":
            ticked.set()

    async with application.transaction() as tx:
        await harness.client.pause_schedule("held", tx=tx)
        async with harness.worker(observers=[observe]):
            harness.clock.advance(HOUR)
            await in_time(ticked.wait())

    counts = {each.name: each.counts for each in await harness.client.schedules()}
    assert counts == {"free": TickCounts(1, 0, 0), "held": TickCounts(0, 0, 0)}
