"""Schedules with several workers, and concurrent changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast import Worker
from holdfast.core.schedule import Schedule, TickCounts
from tests.conformance.client.harness import ClientHarness, value
from tests.conformance.client.schedule_steps import HOUR, chain_ids, stored_schedule, tick_id, until


async def test_many_workers_start_one_chain_per_tick(harness: ClientHarness) -> None:
    job, start = harness.jobs.job(value), harness.time
    harness.jobs.schedule("hourly", job.bind(7), every=HOUR, overlap="allow", missed="all")
    await harness.drain()
    workers = [Worker(harness.workers_client, poll_interval=0.1, grace=1) for _ in range(8)]
    for worker in workers:
        await worker.__aenter__()
    try:
        for number in range(1, 6):
            harness.clock.advance(HOUR)
            await until(harness, "hourly", _has_started(number))
    finally:
        for worker in workers:
            await worker.__aexit__(None, None, None)

    assert await chain_ids(harness) == [tick_id(start + n * HOUR) for n in range(1, 6)]
    assert (await stored_schedule(harness)).counts == TickCounts(5, 0, 0)


def _has_started(number: int) -> Callable[[Schedule], bool]:
    return lambda schedule: schedule.counts.started >= number


async def test_a_schedule_that_is_created_while_a_worker_sleeps_wakes_it(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    async with harness.worker(poll_interval=1000):
        await harness.client.schedule("soon", job.bind(7), every=60)
        harness.clock.advance(60)

        await until(harness, "soon", lambda each: each.counts.started > 0)


async def test_concurrent_changes_are_not_lost(harness: ClientHarness) -> None:
    job = harness.jobs.job(value)
    await harness.client.schedule("hourly", job.bind(7), every=HOUR)

    async def fire(number: int) -> str:
        chain = await harness.client.fire("hourly")
        return str(chain.id)

    fired = await asyncio.gather(*(fire(number) for number in range(8)))

    # The clock stands still, so all of them have the same id, and each call counts.
    assert len(set(fired)) == 1
    assert (await stored_schedule(harness)).counts.started == 8
