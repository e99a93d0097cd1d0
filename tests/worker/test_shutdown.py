"""Stopping: no new claims; handlers may finish in the grace period; the rest is released."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast import Attempt, Event, Store, SyncAttempt, Worker
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness, in_time


async def test_running_handlers_finish_and_nothing_new_is_claimed(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def long() -> str:
        await go_on.wait()
        return "done"

    running, waiting = await harness.client.start_many([long.bind() for _ in range(2)])
    worker = harness.worker(concurrency=1, grace=TIMEOUT)
    work = asyncio.create_task(worker.run())
    await harness.recorder.receive("started", job_id=running.id)
    worker.stop()
    await harness.recorder.receive("worker_stopping")
    late = await harness.start(long.bind(), priority=10)
    go_on.set()
    await in_time(work)

    assert (await harness.job(running)).output == "done"
    assert [(await harness.job(chain)).attempt for chain in (waiting, late)] == [0, 0]
    assert worker.busy == 0
    kinds = [event.kind for event in harness.recorder.events if event.kind.startswith("worker_")]
    assert kinds == ["worker_started", "worker_stopping", "worker_stopped"]


async def test_handlers_that_block_every_thread_of_the_loop_do_not_block_the_shutdown(harness: WorkerHarness) -> None:
    over = threading.Event()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))

    @harness.jobs.job
    async def blocks() -> None:
        await asyncio.to_thread(over.wait, 2 * TIMEOUT)

    chain = await harness.start(blocks.bind())
    worker = harness.worker(grace=0)
    work = asyncio.create_task(worker.run())
    await harness.recorder.receive("started", job_id=chain.id)
    worker.stop()
    try:
        await in_time(work)
    finally:
        over.set()

    assert (await harness.job(chain)).attempt == 0


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_after_the_grace_period_jobs_are_released_and_the_attempt_does_not_count(
    harness: WorkerHarness, plain: bool
) -> None:
    over = threading.Event()

    if plain:

        @harness.jobs.job(name="long")
        def long(attempt: SyncAttempt) -> None:
            harness.recorder(Event("working"))
            over.wait(TIMEOUT)

    else:

        @harness.jobs.job(name="long")
        async def long_async(attempt: Attempt) -> None:
            harness.recorder(Event("working"))
            await asyncio.get_running_loop().create_future()

    chain = await harness.start(harness.jobs["long"].bind())
    async with harness.worker(grace=0.05, worker_id="first"):
        await harness.recorder.receive("working")
    over.set()

    job = await harness.job(chain)
    assert (job.status, job.attempt, job.worker) == ("pending", 0, None)
    report = await harness.report(chain)
    assert [(each.number, each.worker, each.outcome) for each in report.attempts] == [(1, "first", "released")]


async def test_a_released_job_is_run_by_the_next_worker_as_the_same_attempt(harness: WorkerHarness) -> None:
    tokens: list[str] = []

    @harness.jobs.job
    async def long(attempt: Attempt) -> int:
        tokens.append(attempt.claim.token)
        if len(tokens) == 1:
            await asyncio.get_running_loop().create_future()
        return attempt.job.attempt

    chain = await harness.start(long.bind())
    async with harness.worker(grace=0):
        await harness.recorder.receive("started", job_id=chain.id)
    async with harness.worker():
        await harness.recorder.receive("completed", job_id=chain.id)

    assert (await harness.job(chain)).output == 1
    assert len(set(tokens)) == 2


async def test_a_handler_may_finish_in_spite_of_the_signal(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def thorough(attempt: Attempt) -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return f"wound up at {attempt.signal.reason}"
        return "?"

    chain = await harness.start(thorough.bind())
    async with harness.worker(grace=0):
        await harness.recorder.receive("started", job_id=chain.id)

    assert (await harness.job(chain)).output == "wound up at shutdown"


async def test_the_signal_does_not_fire_before_the_grace_period_ends(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def long(attempt: Attempt) -> bool:
        await go_on.wait()
        return attempt.signal.aborted

    chain = await harness.start(long.bind())
    async with harness.worker(grace=TIMEOUT) as worker:
        await harness.recorder.receive("started", job_id=chain.id)
        worker.stop()
        await harness.recorder.receive("worker_stopping")
        go_on.set()

    assert (await harness.job(chain)).output is False


async def _stop_again(worker: Worker, work: asyncio.Task[None]) -> None:
    worker.stop()


async def _cancel_again(worker: Worker, work: asyncio.Task[None]) -> None:
    work.cancel()


@pytest.mark.parametrize("second", [_stop_again, _cancel_again], ids=["stop", "cancel"])
@pytest.mark.parametrize("first", [_stop_again, _cancel_again], ids=["stop", "cancel"])
async def test_a_second_stop_ends_the_grace_period(harness: WorkerHarness, first: Any, second: Any) -> None:
    @harness.jobs.job
    async def long() -> None:
        await asyncio.get_running_loop().create_future()

    chain = await harness.start(long.bind())
    worker = harness.worker(grace=1000)
    work = asyncio.create_task(worker.run())
    await harness.recorder.receive("started", job_id=chain.id)
    await first(worker, work)
    await harness.recorder.receive("worker_stopping")
    await second(worker, work)
    await in_time(asyncio.wait([work]))

    assert work.cancelled() is (_cancel_again in (first, second))
    job = await harness.job(chain)
    assert (job.status, job.attempt) == ("pending", 0)


async def test_a_cancelled_run_drains_like_a_stopped_one(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def long() -> str:
        await go_on.wait()
        return "done"

    chain = await harness.start(long.bind())
    work = asyncio.create_task(harness.worker(grace=TIMEOUT).run())
    await harness.recorder.receive("started", job_id=chain.id)
    work.cancel()
    await harness.recorder.receive("worker_stopping")
    go_on.set()
    await in_time(asyncio.wait([work]))

    assert work.cancelled()
    assert (await harness.job(chain)).output == "done"


@pytest.mark.parametrize("order", [_stop_again, _cancel_again], ids=["stop", "cancel"])
async def test_jobs_claimed_while_the_worker_stops_are_released(store: Store, clock: ManualClock, order: Any) -> None:
    """The worker is stopped after the claim has committed and before its answer arrives."""
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)
    claimed, answer = asyncio.Event(), asyncio.Event()
    perform = faulty.perform

    async def slowly(operation: Any) -> Any:
        result = await perform(operation)
        if operation.verb == "claim":
            claimed.set()
            await answer.wait()
        return result

    @harness.jobs.job
    async def hello() -> None:
        raise AssertionError("never called")

    faulty.perform = slowly  # type: ignore[method-assign]
    chain = await harness.start(hello.bind())
    worker = harness.worker()
    work = asyncio.create_task(worker.run())
    await in_time(claimed.wait())
    await order(worker, work)
    await asyncio.sleep(0)
    answer.set()
    await in_time(asyncio.wait([work]))

    job = await harness.job(chain)
    assert (job.status, job.attempt) == ("pending", 0)
    assert [each.outcome for each in (await harness.report(chain)).attempts] == ["released"]


async def test_an_error_in_the_body_still_drains_the_worker(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def long() -> None:
        await asyncio.get_running_loop().create_future()

    async def body() -> None:
        async with harness.worker(grace=0):
            await harness.recorder.receive("started", job_id=chain.id)
            raise ZeroDivisionError

    chain = await harness.start(long.bind())
    with pytest.raises(ZeroDivisionError):
        await body()

    assert (await harness.job(chain)).status == "pending"


async def test_no_tasks_threads_or_subscriptions_are_left(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    @harness.jobs.job
    def plain() -> None: ...

    tasks, threads = asyncio.all_tasks(), {*threading.enumerate()}
    chains = [await harness.start(job_type.bind()) for job_type in (hello, plain)]
    async with harness.worker():
        for chain in chains:
            await harness.ended(chain)
    await asyncio.to_thread(_join_new, threads)

    assert asyncio.all_tasks() == tasks


def _join_new(known: set[threading.Thread]) -> None:
    """Wait for the end of threads that the test started. Those of asyncio's default pool may stay."""
    for thread in {*threading.enumerate()} - known:
        if not thread.name.startswith("asyncio_"):
            thread.join(TIMEOUT)
            assert not thread.is_alive(), thread.name
