"""Sleeping and waking: what ends a sleep, and what happens when nothing does."""

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
from tests.worker.faulty import FaultyStore
from tests.worker.stage import PATIENCE, Stage, soon


async def test_a_job_a_century_ahead_disturbs_nobody(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> None: ...

    far = await stage.start(hello.bind(), delay=timedelta(days=36_500))
    async with stage.worker():
        await stage.ended(await stage.start(hello.bind()))

    assert not stage.recorder.find("store_error")
    assert (await stage.job(far)).status == "pending"


async def test_a_worker_that_knows_its_wake_ups_are_down_polls_every_second(clock: ManualClock) -> None:
    store = FaultyStore(MemoryStore(clock=clock, wakeups=NoWakeups()))
    stage, asleep = Stage(store, clock), fell_asleep(store)

    @stage.jobs.job
    async def hello() -> None: ...

    async with stage.worker(poll_interval=1000):
        await soon(asleep.wait())
        begun = asyncio.get_running_loop().time()
        await stage.ended(await stage.start(hello.bind()))

    assert asyncio.get_running_loop().time() - begun < PATIENCE / 2


async def test_a_wait_without_wake_ups_looks_by_itself(clock: ManualClock) -> None:
    stage = Stage(MemoryStore(clock=clock, wakeups=NoWakeups()), clock)

    @stage.jobs.job
    async def hello() -> int:
        return 1

    chain = await stage.start(hello.bind())
    waiting = asyncio.create_task(stage.client.wait(chain, timeout=PATIENCE))
    async with stage.worker():
        assert await soon(waiting) == 1


@pytest.mark.parametrize("by", ["retry", "run_now", "resume", "unblocked", "continued"])
async def test_whatever_makes_a_job_due_wakes_a_sleeping_worker(clock: ManualClock, by: str) -> None:
    """With a poll interval beyond anybody's patience."""
    store = FaultyStore(MemoryStore(clock=clock))
    stage, asleep = Stage(store, clock), fell_asleep(store)
    tries = 0

    @stage.jobs.job
    async def hello() -> None:
        nonlocal tries
        tries += 1
        if by == "retry" and tries == 1:
            raise Fail

    @stage.jobs.declare
    async def elsewhere() -> None: ...

    if by == "resume":
        await stage.client.pause(hello)
    other = await stage.start(elsewhere.bind())
    if by == "continued":
        chain = other
    elif by == "unblocked":
        chain = await stage.start(hello.bind(), after=[other])
    else:
        chain = await stage.start(hello.bind(), delay=1000 if by == "run_now" else 0)
    async with stage.worker(poll_interval=1000):
        if by == "retry":
            await stage.recorder.receive("failed")
        await soon(asleep.wait())
        match by:
            case "retry":
                await stage.client.retry(chain)
            case "run_now":
                await stage.client.run_now(chain)
            case "resume":
                await stage.client.resume(hello)
            case _:
                async with stage.client.completing(other) as current:
                    await (current.output(None) if by == "unblocked" else current.continue_with(hello.bind()))
        await stage.recorder.receive("completed", type="hello")


async def test_a_worker_prunes_and_survives_an_outage_of_it(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.pruner.EVERY", 0.02)
    faulty = FaultyStore(store)
    stage = Stage(faulty, clock)

    @stage.jobs.job(keep=10)
    async def brief() -> None: ...

    def watch(operation: Operation[Any], answer: Any) -> None:
        if operation.verb == "prune" and answer:
            pruned.set()

    pruned = asyncio.Event()
    faulty.watch = watch
    faulty.fail("prune")
    fault = faulty.fail("prune", error=ZeroDivisionError("a bug"))
    chain = await stage.start(brief.bind())
    async with stage.worker():
        await stage.ended(chain)
        await stage.recorder.receive("store_error", times=2)
        stage.clock.advance(11)
        await soon(pruned.wait())

    assert fault.met == 1
    assert await stage.client.get(chain) is None


class NoisyWakeups(LocalWakeups):
    """Delivers every hint three times, in between hints of everything and of what never was."""

    def send(self, hints: Hints) -> None:
        for each in (ANYTHING, hints, Hints(due={"nothing"}, finished={"nobody"}, lost={"no one"}), hints, hints):
            super().send(each)


async def test_hints_that_come_too_often_do_no_harm(clock: ManualClock) -> None:
    stage = Stage(MemoryStore(clock=clock, wakeups=NoisyWakeups()), clock)
    runs: Counter[str] = Counter()

    @stage.jobs.job
    async def count(attempt: Attempt) -> Bound[None] | None:
        runs[attempt.job.id] += 1
        return None if attempt.job.index == 2 else count.bind()

    chains = await stage.client.start_many([count.bind() for _ in range(20)])
    async with stage.worker(concurrency=3), stage.worker(concurrency=3):
        for chain in chains:
            await stage.client.wait(chain, timeout=PATIENCE)

    assert (len(runs), set(runs.values())) == (60, {1})
    assert not stage.recorder.find("lost", "reaped", "retrying")


def test_a_client_needs_no_jobs_to_look_around() -> None:
    assert isinstance(Client(MemoryStore()).jobs, Jobs)


def fell_asleep(store: FaultyStore) -> asyncio.Event:
    """Set when a worker has asked when the next job is due: all that it does before it sleeps."""
    asleep = asyncio.Event()
    store.watch = lambda operation, _: asleep.set() if isinstance(operation, NextDue) else None
    return asleep
