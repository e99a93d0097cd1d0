"""Reads and changes cover all shards: lists, counts, limits, schedules, events, queues."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    Attempt,
    Bound,
    ChainFailed,
    ChainNotFound,
    Client,
    Fail,
    Failure,
    JobNotFound,
    Jobs,
    Limit,
    SyncClient,
    Worker,
    WrongShard,
)
from holdfast.core.record import Status
from holdfast.engine.operations import CancelChains, ClaimJobs, GetAudit, GetSchedules, TypeTerms
from holdfast.queue import Queue
from holdfast.stores.memory import MemoryStore
from holdfast.stores.sharded.store import ShardedStore
from holdfast.testing.clock import ManualClock

Shards = dict[str, MemoryStore]


def test_pages_contain_each_chain_once_newest_first(jobs: Jobs, shards: Shards) -> None:
    clock = ManualClock()
    store = ShardedStore(shards)
    store.clock = clock
    client = SyncClient(store, jobs)
    started: list[str] = []
    for number in range(50):
        clock.advance(1)
        started.append(client.start(jobs["resize"].bind(number), shard=("eu", "us", "us")[number % 3]).id)

    listed: list[str] = []
    page = client.list_chains(limit=7)
    listed += [chain.id for chain in page.items]
    while page.next_cursor is not None:
        clock.advance(1)
        client.start(jobs["resize"].bind(0))  # newer than the list
        page = client.list_chains(limit=7, cursor=page.next_cursor)
        listed += [chain.id for chain in page.items]

    assert listed == started[::-1]


def test_a_cursor_of_another_number_of_shards_is_refused(client: SyncClient) -> None:
    with pytest.raises(ValueError, match="no position"):
        client.list_chains(cursor="17")


def test_counts_are_added(client: SyncClient, jobs: Jobs) -> None:
    for name in ("eu", "us", "us"):
        client.start(jobs["resize"].bind(1), shard=name)

    assert client.stats().due == 3
    assert client.counters().types["resize"].total.started == 3


def test_operations_on_chains_of_several_shards(client: SyncClient, jobs: Jobs) -> None:
    chains = [client.start(jobs["resize"].bind(1), shard=name, delay=60) for name in ("eu", "us", "eu")]

    with pytest.raises(ChainNotFound):
        client.store.perform_sync(CancelChains((chains[0].id, chains[1].id, "eu~unknown")))
    assert {chain.status for chain in client.list_chains().items} == {"pending"}
    with pytest.raises(JobNotFound):
        client.run_now("us~unknown")

    for chain in chains[:2]:
        client.cancel(chain)
    assert client.delete(chains) == [chain.id for chain in (chains[0], chains[2], chains[1])]
    assert client.list_chains().items == []


def test_a_pause_covers_all_shards_and_has_one_entry_in_the_audit(client: SyncClient, shards: Shards) -> None:
    client.pause("resize", reason="deploy")

    assert client.stats().types["resize"].paused
    assert all(row.paused for shard in shards.values() for row in SyncClient(shard).stats().types.values())
    assert [entry.action for entry in client.audit()] == ["pause"]
    assert sum(len(shard.perform_sync(GetAudit(10))) for shard in shards.values()) == 1


def test_a_schedule_is_on_one_shard(client: SyncClient, jobs: Jobs, shards: Shards) -> None:
    names = [f"tenant-{number}" for number in range(10)]
    for name in names:
        client.schedule(name, jobs["resize"].bind(1), every=timedelta(hours=1))

    held = [len(shard.perform_sync(GetSchedules()).schedules) for shard in shards.values()]
    assert sum(held) == 10
    assert all(held)
    assert [schedule.name for schedule in client.schedules()] == sorted(names)
    fired = [client.fire(name) for name in names]
    assert [client.get(chain.id) is not None for chain in fired] == [True] * 10
    for name in names:
        client.unschedule(name)
    assert client.schedules() == []


async def test_a_worker_runs_jobs_of_all_shards_with_continuations_hooks_and_side_chains(shards: Shards) -> None:
    jobs = Jobs()
    repaired: list[str] = []

    @jobs.job
    async def note(failure: Failure) -> None:
        repaired.append(failure.job_id)

    @jobs.job
    async def end(number: int) -> int:
        return number + 1

    @jobs.job(on_failure=note)
    async def broken(number: int) -> None:
        raise Fail("no")

    @jobs.job
    async def begin(attempt: Attempt, number: int) -> int | Bound[int]:
        async with attempt.complete() as done:
            await done.start(broken.bind(number))
            return done.continue_with(end.bind(number))

    async with Client({**shards}, jobs) as client:
        chains = [await client.start(begin.bind(number), id=f"order-{number}") for number in range(10)]
        async with Worker(client, concurrency=4):
            assert [await client.wait(chain, timeout=60) for chain in chains] == list(range(1, 11))
            await _until(lambda: _completed(client, "note", 10))
        listed = [job for chain in chains for job in (await client.list_jobs(chain=chain)).items]
        found = [await client.get_job(job.id) for job in listed]
        side = (await client.list_chains(type="broken")).items

    assert len(listed) == 20
    assert None not in found
    assert len(side) == len(repaired) == 10
    assert {chain.id.partition("~")[0] for chain in side} == {"eu", "us"}


async def test_a_side_chain_whose_key_belongs_elsewhere_fails_the_attempt(shards: Shards) -> None:
    jobs = Jobs()
    refused: list[WrongShard] = []

    @jobs.job
    async def side() -> None: ...

    @jobs.job
    async def begin(attempt: Attempt) -> str:
        async with attempt.complete() as done:
            for number in range(20):
                try:
                    await done.start(side.bind(), key=str(number))
                except WrongShard as error:
                    refused.append(error)
                    raise
            return done.output("done")

    async with Client({**shards}, jobs) as client:
        chain = await client.start(begin.bind(), max_attempts=1)
        async with Worker(client):
            with pytest.raises(ChainFailed, match="belongs on"):
                await client.wait(chain, timeout=60)

    assert refused
    assert (await client.list_chains(type="side")).items == []


async def test_limits_hold_on_each_shard_and_are_reported_together(shards: Shards) -> None:
    jobs = Jobs()
    release = asyncio.Event()

    @jobs.job(limits=[Limit("gpu", 1)])
    async def render() -> None:
        await release.wait()

    async with Client({**shards}, jobs) as client:
        for name in ("eu", "eu", "us", "us"):
            await client.start(render.bind(), shard=name)
        async with Worker(client):
            await _until(lambda: _running(client, 2))
            (report,) = await client.limits()
            (lane,) = report.lanes
            assert (report.number, lane.running, lane.waiting) == (1, 2, 2)
            await client.set_limit("gpu", 2)
            await _until(lambda: _running(client, 4))
            release.set()


async def test_explain_reads_the_lanes_of_the_shard(shards: Shards) -> None:
    jobs = Jobs()

    @jobs.job(limits=[Limit("gpu", 1)])
    async def render() -> None: ...

    async with Client({**shards}, jobs) as client:
        await client.start(render.bind(), shard="eu")
        [running] = await shards["eu"].perform(ClaimJobs((TypeTerms("render", 60_000_000, 1),), 1, "worker", "token"))
        waiting = await client.start(render.bind(), shard="eu")
        free = await client.start(render.bind(), shard="us")

        full, other = await client.explain(waiting), await client.explain(free)

    assert full is not None
    assert other is not None
    assert (full.claimable, other.claimable) == (False, True)
    assert running.id in repr(full.reasons)


async def test_run_and_a_queue_wait_for_results_on_any_shard(shards: Shards, jobs: Jobs) -> None:
    async with Client({**shards}, jobs) as client, Worker(client):
        results = [await client.run(jobs["resize"].bind(number), timeout=60) for number in range(10)]
    queue: Queue[Any, Any] = Queue("emails", store={**shards})

    async def send(job: Any) -> str:
        return f"sent {job.payload}"

    queue.execute(send)
    async with queue:
        sent = [await queue.enqueue_and_wait(f"mail-{number}", number, timeout=60) for number in range(10)]
        statuses = [await queue.status(f"mail-{number}") for number in range(10)]

    assert results == [number * 2 for number in range(10)]
    assert sent == [f"sent {number}" for number in range(10)]
    assert all(status is not None and status.state == "completed" for status in statuses)


async def test_events_of_all_shards_arrive(shards: Shards, jobs: Jobs) -> None:
    async with Client({**shards}, jobs) as client:
        seen: list[str] = []
        events = client.events()
        first = asyncio.create_task(anext(events))
        await _until(lambda: _true(all(shard._state.listeners for shard in shards.values())))  # pyright: ignore[reportPrivateUsage]
        ids = [(await client.start(jobs["resize"].bind(1), shard=name)).id for name in ("eu", "us", "us", "eu")]
        seen.append((await first).job_id or "")
        while len(seen) < 4:
            seen.append((await anext(events)).job_id or "")
        await events.aclose()

    assert sorted(seen) == sorted(ids)


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 - the state sends no event
            await asyncio.sleep(0.01)


async def _completed(client: Client, type: str, count: int) -> bool:
    return len((await client.list_chains(type=type, status="completed")).items) == count


async def _running(client: Client, count: int) -> bool:
    return (await client.stats()).counts[Status.RUNNING] == count


async def _true(value: bool) -> bool:
    return value
