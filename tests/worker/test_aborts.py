"""The abort signal: each reason reaches the handler, cancels async handlers, and leaves the job in the right state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast import Attempt, Chain, Event, Retry, SyncAttempt, Worker
from holdfast.engine.operations import ClaimJobs, TypeTerms
from tests.worker.harness import LEASE, POLL, RENEW_INTERVAL, TIMEOUT, WorkerHarness, in_time

Disturb = Callable[[WorkerHarness, Chain[Any], Worker], Awaitable[None]]


async def _take(harness: WorkerHarness, chain: Chain[Any], worker: Worker) -> None:
    """Claim as another worker. Blocking, so that the worker under test cannot claim the job itself meanwhile."""
    assert harness.reaped("long") == [chain.id]
    terms = (TypeTerms("long", 60_000_000, 25),)
    harness.store.perform_sync(ClaimJobs(terms, 1, "another", "another token"))


async def _complete(harness: WorkerHarness, chain: Chain[Any], worker: Worker) -> None:
    async with harness.client.completing(chain) as current:
        await current.output("from outside")


async def _delete(harness: WorkerHarness, chain: Chain[Any], worker: Worker) -> None:
    await harness.client.delete([chain])


async def _cancel(harness: WorkerHarness, chain: Chain[Any], worker: Worker) -> None:
    await harness.client.cancel(chain)


async def _stop(harness: WorkerHarness, chain: Chain[Any], worker: Worker) -> None:
    worker.stop()


async def _nothing(harness: WorkerHarness, chain: Chain[Any], worker: Worker) -> None: ...


LOST: dict[str, Disturb] = {
    "taken_by_another_worker": _take,
    "already_completed": _complete,
    "not_found": _delete,
    "cancelled": _cancel,
}
ENDINGS = {
    "taken_by_another_worker": ("running", "another"),
    "already_completed": ("completed", None),
    "not_found": None,
    "cancelled": ("cancelled", None),
    "timeout": ("pending", None),
    "shutdown": ("pending", None),
}


TIME_TO_BEGIN = 0.5
"""Seconds: a timeout that leaves a handler the time to begin, also in a thread on a busy machine."""


@pytest.mark.parametrize("reason", ENDINGS)
async def test_an_async_handler_is_cancelled_and_sees_the_reason(harness: WorkerHarness, reason: str) -> None:
    reasons: list[str | None] = []

    @harness.jobs.job(timeout=TIME_TO_BEGIN if reason == "timeout" else None)
    async def long(attempt: Attempt) -> str:
        assert not attempt.signal.aborted
        assert attempt.signal.reason is None
        harness.recorder(Event("working"))
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            assert attempt.signal.aborted
            reasons.append(attempt.signal.reason)
            reasons.append(await attempt.signal.wait())
            raise
        return "too late"

    await _disturbed(harness, reason)

    assert reasons == [reason, reason]


@pytest.mark.parametrize("reason", ENDINGS)
async def test_a_plain_handler_sees_the_signal(harness: WorkerHarness, reason: str) -> None:
    reasons: list[str | None] = []
    over = threading.Event()

    @harness.jobs.job(timeout=TIME_TO_BEGIN if reason == "timeout" else None)
    def long(attempt: SyncAttempt) -> str:
        assert attempt.signal.wait_sync(0) is None
        harness.recorder(Event("working"))
        reasons.append(attempt.signal.wait_sync(TIMEOUT))
        over.set()
        return "too late"

    await _disturbed(harness, reason)
    await asyncio.to_thread(over.wait, TIMEOUT)

    assert reasons == [reason]


async def _disturbed(harness: WorkerHarness, reason: str) -> None:
    """Start a long job, interfere with it, and return the job after its attempt has ended."""
    chain = await harness.start(harness.jobs["long"].bind())
    async with harness.worker(grace=0, concurrency=1) as worker:
        await harness.recorder.receive("working")
        disturb = LOST.get(reason, _stop if reason == "shutdown" else _nothing)
        await disturb(harness, chain, worker)
        kind = "lost" if reason in LOST else "retrying" if reason == "timeout" else "released"
        event = await harness.recorder.receive(kind, job_id=chain.id)

    job = await harness.client.get_job(chain.id)
    assert (None if job is None else (job.status, job.worker)) == ENDINGS[reason]
    assert reason not in LOST or event.detail == reason


@pytest.mark.parametrize("reason", LOST)
async def test_a_handler_that_ignores_the_signal_writes_nothing(harness: WorkerHarness, reason: str) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def long(attempt: Attempt) -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await go_on.wait()
        async with attempt.complete() as done:
            return done.output("too late")

    chain = await harness.start(harness.jobs["long"].bind())
    async with harness.worker(concurrency=1) as worker:
        await harness.recorder.receive("started", job_id=chain.id)
        await LOST[reason](harness, chain, worker)
        before = await harness.client.report(chain.id)
        go_on.set()
        event = await harness.recorder.receive("lost", job_id=chain.id)

    assert event.detail == reason
    assert await harness.client.report(chain.id) == before


@pytest.mark.parametrize("reason", LOST)
async def test_a_lost_claim_is_noticed_when_progress_is_reported(harness: WorkerHarness, reason: str) -> None:
    """Even without a wake-up, and long before the next renewal."""
    disturbed = asyncio.Event()

    @harness.jobs.job(lease=LEASE)
    async def long(attempt: Attempt) -> str:
        try:
            await disturbed.wait()
        finally:
            await attempt.progress(0.5)
        return "too late"

    chain = await harness.start(harness.jobs["long"].bind())
    async with harness.worker(concurrency=1) as worker:
        await harness.recorder.receive("started", job_id=chain.id)
        await LOST[reason](harness, chain, worker)
        disturbed.set()
        event = await harness.recorder.receive("lost", job_id=chain.id)

    assert event.detail == reason


async def test_an_older_attempt_of_the_same_worker_is_aborted_and_writes_nothing(harness: WorkerHarness) -> None:
    reasons: list[str | None] = []
    second = asyncio.Event()
    go_on = asyncio.Event()

    @harness.jobs.job
    async def long(attempt: Attempt) -> int:
        if attempt.job.attempt == 2:
            second.set()
            await go_on.wait()
            return 2
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            reasons.append(attempt.signal.reason)
            await second.wait()
        return 1

    chain = await harness.start(long.bind())
    async with harness.worker(concurrency=2):
        await harness.recorder.receive("started", job_id=chain.id)
        harness.reaped("long")
        lost = await harness.recorder.receive("lost", job_id=chain.id)
        running = await harness.job(chain)
        go_on.set()
        await harness.recorder.receive("completed", job_id=chain.id)

    assert reasons == ["taken_by_another_worker"]
    assert (lost.attempt, lost.detail) == (1, "taken_by_another_worker")
    assert (running.status, running.attempt) == ("running", 2)
    assert (await harness.job(chain)).output == 2


async def test_a_worker_does_not_reap_its_own_claims(harness: WorkerHarness) -> None:
    go_on = asyncio.Event()

    @harness.jobs.job
    async def long() -> str:
        await go_on.wait()
        return "done"

    @harness.jobs.job
    async def quick() -> None: ...

    lost = await harness.start(quick.bind())
    terms = (TypeTerms("quick", 1, 25),)
    await harness.store.perform(ClaimJobs(terms, 1, "another", "another token"))
    chain = await harness.start(long.bind())
    async with harness.worker(lease=1000):
        await harness.recorder.receive("started", job_id=chain.id)
        harness.clock.advance(2000)
        await harness.recorder.receive("reaped", job_id=lost.id)
        go_on.set()
        await harness.ended(chain)

    assert (await harness.job(chain)).attempt == 1
    assert not harness.recorder.find("reaped", job_id=chain.id)


async def test_a_handler_that_ignores_its_abort_loses_its_job(harness: WorkerHarness) -> None:
    """After the abort its lease is not renewed, so that another attempt can run."""
    aborted, over = asyncio.Event(), asyncio.Event()

    @harness.jobs.job(timeout=0.2, retry=Retry(initial=0, jitter=0))
    async def endless(attempt: Attempt) -> str:
        while attempt.job.attempt == 1 and not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                aborted.set()
        return "done"

    chain = await harness.start(endless.bind())
    async with harness.worker(concurrency=2):
        try:
            await in_time(aborted.wait())
            await in_time(_renewals(harness))
            harness.clock.advance(LEASE + 1)
            await harness.recorder.receive("reaped", job_id=chain.id)
            await harness.recorder.receive("completed", job_id=chain.id)
        finally:
            over.set()

    # On a busy machine a later attempt may exceed the timeout too.
    job = await harness.job(chain)
    assert job.attempt >= 2
    assert job.output == "done"


async def _renewals(harness: WorkerHarness) -> None:
    """Wait long enough for a renewal."""

    @harness.jobs.job(name="bystander")
    async def bystander(attempt: Attempt) -> None:
        await harness.recorder.receive("renewed", times=2, job_id=attempt.job.id)

    async with Worker(harness.client, types=bystander, lease=LEASE, renew_interval=RENEW_INTERVAL, poll_interval=POLL):
        await harness.ended(await harness.start(bystander.bind()))
