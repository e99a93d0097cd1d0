"""A worker reports itself to the store: from its start, twice a minute, until its end. An operator can drain it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Attempt, Client, LiveWorker, Worker, WorkerNotFound
from holdfast.engine.operations import ClaimJobs, ReportWorker
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness, in_time


def _report_every(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECOND_REPORT", "WORKER_REFRESH"):
        monkeypatch.setattr(f"holdfast.worker.reporter.{name}", seconds)


async def _listed(harness: WorkerHarness, **about: Any) -> LiveWorker:
    """Wait until one worker with these properties is listed."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            for worker in await harness.client.workers():
                if all(getattr(worker, name) == value for name, value in about.items()):
                    return worker
            await asyncio.sleep(0.01)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def test_a_worker_is_listed_from_its_start_to_its_end(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def resize() -> None: ...

    @harness.jobs.job
    async def send() -> None: ...

    @harness.jobs.declare
    async def approve() -> None: ...

    async with harness.worker(concurrency=7, worker_id="one"):
        worker = await _listed(harness, id="one")

    assert (worker.host, worker.pid) == (socket.gethostname(), os.getpid())
    assert (worker.types, worker.concurrency, worker.busy) == (("resize", "send"), 7, 0)
    assert (worker.registry, worker.details) == ("default", {"external": ["approve"]})
    assert worker.started_at == worker.seen_at
    assert not worker.draining
    assert await harness.client.workers() == []


async def test_a_worker_without_wakeups_is_listed_with_the_jobs_that_it_runs(harness: WorkerHarness) -> None:
    free = asyncio.Event()

    @harness.jobs.job
    async def resize() -> None:
        await free.wait()

    for _ in range(3):
        await harness.start(resize.bind())
    async with harness.worker(concurrency=2, worker_id="one"):
        await _listed(harness, id="one", busy=2)
        free.set()
        await _listed(harness, id="one", busy=0)


async def test_a_worker_refreshes_its_row(harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    _report_every(0.02, monkeypatch)

    @harness.jobs.job
    async def resize() -> None: ...

    async with harness.worker(worker_id="one"):
        first = await _listed(harness, id="one")
        harness.clock.advance(100)
        later = await _listed(harness, id="one")

    assert later.started_at == first.started_at
    assert (later.seen_at - first.seen_at).total_seconds() == 100


async def test_a_drained_worker_finishes_its_jobs_and_stops(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without wake-ups the flag is read at the next report.
    _report_every(0.05, monkeypatch)
    free = asyncio.Event()

    @harness.jobs.job
    async def resize() -> str:
        await free.wait()
        return "done"

    running, left = await harness.start(resize.bind()), await harness.start(resize.bind())
    worker = harness.worker(concurrency=1, worker_id="one", grace=TIMEOUT)
    work = asyncio.create_task(worker.run(signals=False))
    await harness.recorder.receive("started", job_id=running.id)
    await _listed(harness, id="one")

    await harness.client.drain_worker("one")

    await harness.recorder.receive("worker_stopping")
    assert (await _listed(harness, id="one")).draining
    free.set()
    await in_time(work)
    assert (await harness.chain(running)).output == "done"
    assert (await harness.chain(left)).status == "pending"
    assert await harness.client.workers() == []


async def test_a_drain_during_the_grace_period_does_not_end_it(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    _report_every(0.02, monkeypatch)
    free = asyncio.Event()

    @harness.jobs.job
    async def resize() -> str:
        await free.wait()
        return "done"

    chain = await harness.start(resize.bind())
    worker = harness.worker(worker_id="one", grace=TIMEOUT)
    work = asyncio.create_task(worker.run(signals=False))
    await harness.recorder.receive("started", job_id=chain.id)
    worker.stop()

    await harness.client.drain_worker(await _listed(harness, id="one"))
    seen = (await _listed(harness, id="one")).seen_at
    harness.clock.advance(1)
    await _listed(harness, id="one", seen_at=seen + timedelta(seconds=1))  # the flag was read meanwhile
    free.set()

    await in_time(work)
    assert (await harness.chain(chain)).output == "done"


async def test_an_unknown_worker_cannot_be_drained(harness: WorkerHarness) -> None:
    with pytest.raises(WorkerNotFound, match="no live worker 'unknown'"):
        await harness.client.drain_worker("unknown")
    with pytest.raises(TypeError, match="by its id"):
        await harness.client.drain_worker(7)  # type: ignore[arg-type]


async def test_a_worker_runs_jobs_while_it_cannot_report_itself(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def resize(attempt: Attempt) -> str:
        return "done"

    store = FaultyStore(harness.store)
    fault = store.fail("report_worker", times=None)
    client = Client(store, harness.jobs, observers=[harness.recorder])
    chain = await harness.start(resize.bind())
    async with Worker(client, worker_id="one", poll_interval=0.02):
        await harness.ended(chain)
        error = await harness.recorder.receive("store_error", worker="one")
        assert error.detail is not None
        assert error.detail.startswith("reporting the worker: ")
        assert await harness.client.workers() == []

        fault.end()
        await _listed(harness, id="one")

    assert await harness.client.workers() == []


async def test_a_report_starts_no_claim(harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    if not harness.store.wakeups.healthy:
        return  # this worker polls
    _report_every(0.01, monkeypatch)

    @harness.jobs.job
    async def resize() -> None: ...

    store = FaultyStore(harness.store)
    client = Client(store, harness.jobs, observers=[harness.recorder])
    async with (
        Worker(client, worker_id="one", poll_interval=600),
        Worker(client, worker_id="two", poll_interval=600),
    ):
        # Each worker looks for jobs when it starts, and then sleeps.
        async with asyncio.timeout(TIMEOUT):
            while await _claims_beside_reports(store, 20):
                continue


async def _claims_beside_reports(store: FaultyStore, reports: int) -> int:
    """The number of claims until there were this many reports."""
    before = len(store.performed)
    await _until(lambda: sum(isinstance(each, ReportWorker) for each in store.performed[before:]) >= reports)
    return sum(isinstance(each, ClaimJobs) for each in store.performed[before:])
