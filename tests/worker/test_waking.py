"""Sleeping and waking: what ends a sleep, and what happens when nothing does."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Client, Fail, Jobs
from holdfast.operations import Operation
from holdfast.stores.memory import MemoryStore
from holdfast.testing.clock import ManualClock
from holdfast.wakeups import NoWakeups
from tests.worker.faulty import FaultyStore
from tests.worker.stage import PATIENCE, Stage, soon


async def test_a_job_a_century_ahead_disturbs_nobody(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> None: ...

    far = await stage.start(hello.bind(), delay=timedelta(days=36_500))
    async with stage.worker():
        await stage.ended(await stage.start(hello.bind()))

    assert not stage.ear.find("store_error")
    assert (await stage.job(far)).status == "pending"


async def test_a_worker_that_knows_its_wake_ups_are_down_polls_every_second(clock: ManualClock) -> None:
    stage = Stage(MemoryStore(clock=clock, wakeups=NoWakeups()), clock)

    @stage.jobs.job
    async def hello() -> None: ...

    async with stage.worker(poll_interval=1000):
        await stage.ended(await stage.start(hello.bind()))
        await asyncio.sleep(0)
        begun = asyncio.get_running_loop().time()
        await stage.ended(await stage.start(hello.bind()))

    assert asyncio.get_running_loop().time() - begun < 2


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
    stage = Stage(MemoryStore(clock=clock), clock)
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
            await stage.ear.hear("failed")
        await asyncio.sleep(0)
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
        await stage.ear.hear("completed", type="hello")


async def test_a_worker_prunes_and_survives_an_outage_of_it(
    store: MemoryStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
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
        await stage.ear.hear("store_error", times=2)
        stage.clock.advance(11)
        await soon(pruned.wait())

    assert fault.met == 1
    assert await stage.client.get(chain) is None


def test_a_client_needs_no_jobs_to_look_around() -> None:
    assert isinstance(Client(MemoryStore()).jobs, Jobs)
