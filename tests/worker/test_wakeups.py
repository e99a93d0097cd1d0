"""Sleep and wake-ups: what ends the sleep of a worker, and polling without wake-ups."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Attempt, Bound, Client, Fail, Jobs, Store
from holdfast.engine.operations import NextDue, Operation
from holdfast.engine.wakeups import ANYTHING, Hints, LocalWakeups, NoWakeups
from holdfast.stores.memory import MemoryStore
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness, in_time


async def test_a_job_a_century_ahead_does_not_wake_the_worker(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    far = await harness.start(hello.bind(), delay=timedelta(days=36_500))
    async with harness.worker():
        await harness.ended(await harness.start(hello.bind()))

    assert not harness.recorder.find("store_error")
    assert (await harness.job(far)).status == "pending"


async def test_a_worker_that_knows_its_wake_ups_are_down_polls_every_second(clock: ManualClock) -> None:
    store = FaultyStore(MemoryStore(clock=clock, wakeups=NoWakeups()))
    harness, asleep = WorkerHarness(store, clock), fell_asleep(store)

    @harness.jobs.job
    async def hello() -> None: ...

    async with harness.worker(poll_interval=1000):
        await in_time(asleep.wait())
        # The poll interval without wake-ups is one second. The usual one is longer than this wait.
        await harness.ended(await harness.start(hello.bind()))


async def test_a_wait_without_wake_ups_polls(clock: ManualClock) -> None:
    harness = WorkerHarness(MemoryStore(clock=clock, wakeups=NoWakeups()), clock)

    @harness.jobs.job
    async def hello() -> int:
        return 1

    chain = await harness.start(hello.bind())
    waiting = asyncio.create_task(harness.client.wait(chain, timeout=TIMEOUT))
    async with harness.worker():
        assert await in_time(waiting) == 1


@pytest.mark.parametrize("by", ["retry", "run_now", "resume", "unblocked", "continued"])
async def test_whatever_makes_a_job_due_wakes_a_sleeping_worker(clock: ManualClock, by: str) -> None:
    """The poll interval is longer than the test."""
    store = FaultyStore(MemoryStore(clock=clock))
    harness, asleep = WorkerHarness(store, clock), fell_asleep(store)
    tries = 0

    @harness.jobs.job
    async def hello() -> None:
        nonlocal tries
        tries += 1
        if by == "retry" and tries == 1:
            raise Fail

    @harness.jobs.declare
    async def elsewhere() -> None: ...

    if by == "resume":
        await harness.client.pause(hello)
    other = await harness.start(elsewhere.bind())
    if by == "continued":
        chain = other
    elif by == "unblocked":
        chain = await harness.start(hello.bind(), after=[other])
    else:
        chain = await harness.start(hello.bind(), delay=1000 if by == "run_now" else 0)
    async with harness.worker(poll_interval=1000):
        if by == "retry":
            await harness.recorder.receive("failed")
        await in_time(asleep.wait())
        match by:
            case "retry":
                await harness.client.retry(chain)
            case "run_now":
                await harness.client.run_now(chain)
            case "resume":
                await harness.client.resume(hello)
            case _:
                async with harness.client.completing(other) as current:
                    await (current.output(None) if by == "unblocked" else current.continue_with(hello.bind()))
        await harness.recorder.receive("completed", type="hello")


async def test_a_worker_prunes_and_survives_an_outage_of_it(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.pruner.EVERY", 0.02)
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)

    @harness.jobs.job(keep=10)
    async def brief() -> None: ...

    def watch(operation: Operation[Any], answer: Any) -> None:
        if operation.verb == "prune" and answer:
            pruned.set()

    pruned = asyncio.Event()
    faulty.watch = watch
    faulty.fail("prune")
    fault = faulty.fail("prune", error=ZeroDivisionError("a bug"))
    chain = await harness.start(brief.bind())
    async with harness.worker():
        await harness.ended(chain)
        await harness.recorder.receive("store_error", times=2)
        harness.clock.advance(11)
        await in_time(pruned.wait())

    assert fault.met == 1
    assert await harness.client.get(chain) is None


class NoisyWakeups(LocalWakeups):
    """Delivers every hint three times, mixed with hints about everything and about unknown jobs."""

    def send(self, hints: Hints) -> None:
        for each in (ANYTHING, hints, Hints(due={"nothing"}, finished={"unknown"}, lost={"no one"}), hints, hints):
            super().send(each)


async def test_duplicate_hints_have_no_effect(clock: ManualClock) -> None:
    harness = WorkerHarness(MemoryStore(clock=clock, wakeups=NoisyWakeups()), clock)
    runs: Counter[str] = Counter()

    @harness.jobs.job
    async def count(attempt: Attempt) -> Bound[None] | None:
        runs[attempt.job.id] += 1
        return None if attempt.job.index == 2 else count.bind()

    chains = await harness.client.start_many([count.bind() for _ in range(20)])
    async with harness.worker(concurrency=3), harness.worker(concurrency=3):
        for chain in chains:
            await harness.client.wait(chain, timeout=TIMEOUT)

    assert (len(runs), set(runs.values())) == (60, {1})
    assert not harness.recorder.find("lost", "reaped", "retrying")


def test_a_client_without_a_registry_can_read() -> None:
    assert isinstance(Client(MemoryStore()).jobs, Jobs)


def fell_asleep(store: FaultyStore) -> asyncio.Event:
    """Set when a worker has asked for the next due time, which is the last operation before it sleeps."""
    asleep = asyncio.Event()
    store.watch = lambda operation, _: asleep.set() if isinstance(operation, NextDue) else None
    return asleep
