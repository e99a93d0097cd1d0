"""Signals of the operating system stop workers."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from holdfast import Attempt, Store
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness, in_time


async def test_a_worker_stops_while_the_store_is_unavailable(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.shutdown.SHUTDOWN_TIMEOUT", 0.05)
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)

    @harness.jobs.job
    async def long() -> None:
        await asyncio.get_running_loop().create_future()

    chain = await harness.start(long.bind())
    async with harness.worker(grace=0):
        await harness.recorder.receive("started", job_id=chain.id)
        fault = faulty.fail(times=None)
        await harness.recorder.receive("store_error")
    fault.end()

    assert (await harness.job(chain)).status == "running"


async def test_a_worker_stops_while_the_store_hangs(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.shutdown.SHUTDOWN_TIMEOUT", 0.05)
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)

    @harness.jobs.job
    async def long(attempt: Attempt) -> None:
        faulty.hold.clear()
        await asyncio.get_running_loop().create_future()

    chain = await harness.start(long.bind())
    try:
        async with asyncio.timeout(TIMEOUT), harness.worker(grace=0, lease=1):
            await harness.ended(chain)
    finally:
        faulty.hold.set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_every_worker_of_the_process(harness: WorkerHarness, number: signal.Signals) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    workers = [harness.worker(worker_id=name) for name in ("one", "two")]
    work = asyncio.gather(*(worker.run() for worker in workers))
    await harness.recorder.receive("worker_started", times=2)
    os.kill(os.getpid(), number)
    await in_time(work)

    assert {event.worker for event in harness.recorder.find("worker_stopped")} == {"one", "two"}


async def test_a_second_signal_ends_the_grace_period(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def long() -> None:
        await asyncio.get_running_loop().create_future()

    chain = await harness.start(long.bind())
    work = asyncio.create_task(harness.worker(grace=1000).run())
    await harness.recorder.receive("started", job_id=chain.id)
    os.kill(os.getpid(), signal.SIGTERM)
    await harness.recorder.receive("worker_stopping")
    os.kill(os.getpid(), signal.SIGTERM)
    await in_time(work)

    assert (await harness.job(chain)).status == "pending"


def test_a_worker_runs_in_a_thread_of_its_own(store: Store, clock: ManualClock) -> None:
    """Only the main thread receives signals: here the application calls stop()."""
    outputs: list[str] = []

    async def main() -> None:
        harness = WorkerHarness(store, clock)

        @harness.jobs.job
        async def hello() -> str:
            return "hello"

        worker = harness.worker()
        work = asyncio.create_task(worker.run())
        chain = await harness.start(hello.bind())
        await harness.ended(chain)
        worker.stop()
        await in_time(work)
        outputs.append((await harness.job(chain)).output)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    thread.join(2 * TIMEOUT)

    assert outputs == ["hello"]
