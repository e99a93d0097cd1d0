"""The abort signal: each reason reaches the handler, cancels it if it is async, and leaves the job as it should be."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holdfast import Attempt, Chain, Event, Retry, SyncAttempt, Worker
from holdfast.engine.operations import ClaimJobs, TypeTerms
from tests.worker.stage import LEASE, PATIENCE, Stage, soon

Disturb = Callable[[Stage, Chain[Any], Worker], Awaitable[None]]


async def _take(stage: Stage, chain: Chain[Any], worker: Worker) -> None:
    """Of a worker that has no slot left: blocking, it leaves that one no time to be told and to take the job itself."""
    assert stage.reaped("long") == [chain.id]
    terms = (TypeTerms("long", 60_000_000, 25),)
    stage.store.perform_sync(ClaimJobs(terms, 1, "another", "another token"))


async def _complete(stage: Stage, chain: Chain[Any], worker: Worker) -> None:
    async with stage.client.completing(chain) as current:
        await current.output("from outside")


async def _delete(stage: Stage, chain: Chain[Any], worker: Worker) -> None:
    await stage.client.delete([chain])


async def _cancel(stage: Stage, chain: Chain[Any], worker: Worker) -> None:
    await stage.client.cancel(chain)


async def _stop(stage: Stage, chain: Chain[Any], worker: Worker) -> None:
    worker.stop()


async def _nothing(stage: Stage, chain: Chain[Any], worker: Worker) -> None: ...


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


@pytest.mark.parametrize("reason", ENDINGS)
async def test_an_async_handler_is_cancelled_and_told_why(stage: Stage, reason: str) -> None:
    reasons: list[str | None] = []

    @stage.jobs.job(timeout=0.02 if reason == "timeout" else None)
    async def long(attempt: Attempt) -> str:
        assert not attempt.signal.aborted
        assert attempt.signal.reason is None
        stage.recorder(Event("working"))
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            assert attempt.signal.aborted
            reasons.append(attempt.signal.reason)
            reasons.append(await attempt.signal.wait())
            raise
        return "too late"

    await _disturbed(stage, reason)

    assert reasons == [reason, reason]


@pytest.mark.parametrize("reason", ENDINGS)
async def test_a_plain_handler_sees_the_signal(stage: Stage, reason: str) -> None:
    reasons: list[str | None] = []
    over = threading.Event()

    @stage.jobs.job(timeout=0.02 if reason == "timeout" else None)
    def long(attempt: SyncAttempt) -> str:
        assert attempt.signal.wait_sync(0) is None
        stage.recorder(Event("working"))
        reasons.append(attempt.signal.wait_sync(PATIENCE))
        over.set()
        return "too late"

    await _disturbed(stage, reason)
    await asyncio.to_thread(over.wait, PATIENCE)

    assert reasons == [reason]


async def _disturbed(stage: Stage, reason: str) -> None:
    """Start a long job, disturb it, and look at what is left of it once its attempt has ended."""
    chain = await stage.start(stage.jobs["long"].bind())
    async with stage.worker(grace=0, concurrency=1) as worker:
        await stage.recorder.receive("working")
        disturb = LOST.get(reason, _stop if reason == "shutdown" else _nothing)
        await disturb(stage, chain, worker)
        kind = "lost" if reason in LOST else "retrying" if reason == "timeout" else "released"
        event = await stage.recorder.receive(kind, job_id=chain.id)

    job = await stage.client.get_job(chain.id)
    assert (None if job is None else (job.status, job.worker)) == ENDINGS[reason]
    assert reason not in LOST or event.detail == reason


@pytest.mark.parametrize("reason", LOST)
async def test_a_handler_that_ignores_the_signal_writes_nothing(stage: Stage, reason: str) -> None:
    go_on = asyncio.Event()

    @stage.jobs.job
    async def long(attempt: Attempt) -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await go_on.wait()
        async with attempt.complete() as done:
            return done.output("too late")

    chain = await stage.start(stage.jobs["long"].bind())
    async with stage.worker(concurrency=1) as worker:
        await stage.recorder.receive("started", job_id=chain.id)
        await LOST[reason](stage, chain, worker)
        before = await stage.client.report(chain.id)
        go_on.set()
        event = await stage.recorder.receive("lost", job_id=chain.id)

    assert event.detail == reason
    assert await stage.client.report(chain.id) == before


@pytest.mark.parametrize("reason", LOST)
async def test_a_lost_claim_is_noticed_when_progress_is_reported(stage: Stage, reason: str) -> None:
    """Also where no wake-up came, and the next renewal is far off."""
    disturbed = asyncio.Event()

    @stage.jobs.job(lease=LEASE)
    async def long(attempt: Attempt) -> str:
        try:
            await disturbed.wait()
        finally:
            await attempt.progress(0.5)
        return "too late"

    chain = await stage.start(stage.jobs["long"].bind())
    async with stage.worker(concurrency=1) as worker:
        await stage.recorder.receive("started", job_id=chain.id)
        await LOST[reason](stage, chain, worker)
        disturbed.set()
        event = await stage.recorder.receive("lost", job_id=chain.id)

    assert event.detail == reason


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("of", ["start", "type", "worker"])
async def test_a_timeout_frees_the_slot_and_counts_as_a_failed_attempt(stage: Stage, of: str, plain: bool) -> None:
    never = threading.Event()

    if plain:

        @stage.jobs.job(name="long", timeout=0.02 if of == "type" else None)
        def long() -> None:
            never.wait(PATIENCE)

    else:

        @stage.jobs.job(name="long", timeout=0.02 if of == "type" else None)
        async def long_async() -> None:
            await asyncio.get_running_loop().create_future()

    @stage.jobs.job
    async def next_one() -> None: ...

    long_type = stage.jobs["long"]
    chain = await stage.start(long_type.bind(), priority=1, timeout=0.02 if of == "start" else None, max_attempts=2)
    other = await stage.start(next_one.bind())
    async with stage.worker(concurrency=1, timeout=0.02 if of == "worker" else None):
        await stage.ended(other)
        assert (await stage.ended(chain)).kind == "retrying"
        stage.clock.advance(100)
        assert (await stage.ended(chain, times=2)).kind == "failed"
    never.set()

    assert "took longer than 0.02 s" in str((await stage.job(chain)).error)


async def test_a_timeout_that_the_handler_swallows_still_fails_the_attempt(stage: Stage) -> None:
    @stage.jobs.job(timeout=0.02)
    async def stubborn() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "so what"
        return "?"

    chain = await stage.start(stubborn.bind())
    async with stage.worker():
        assert (await stage.ended(chain)).kind == "retrying"

    assert (await stage.job(chain)).output is None


async def test_an_attempt_that_ends_in_time_is_not_timed_out(stage: Stage) -> None:
    @stage.jobs.job(timeout=PATIENCE)
    async def quick() -> str:
        return "done"

    chain = await stage.start(quick.bind())
    async with stage.worker():
        assert (await stage.ended(chain)).kind == "completed"


async def test_what_a_plain_handler_returns_after_its_timeout_is_dropped(stage: Stage) -> None:
    go_on = threading.Event()
    over = threading.Event()

    @stage.jobs.job(timeout=0.02, retry=Retry(initial=0, jitter=0))
    def late(attempt: SyncAttempt) -> int:
        if attempt.job.attempt == 1:
            go_on.wait(PATIENCE)
            over.set()
        return attempt.job.attempt

    chain = await stage.start(late.bind())
    async with stage.worker():
        await stage.recorder.receive("completed", job_id=chain.id)
        go_on.set()
        await asyncio.to_thread(over.wait, PATIENCE)

    assert (await stage.job(chain)).output == 2


async def test_an_older_attempt_of_the_same_worker_is_told_and_fools_nobody(stage: Stage) -> None:
    reasons: list[str | None] = []
    second = asyncio.Event()
    go_on = asyncio.Event()

    @stage.jobs.job
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

    chain = await stage.start(long.bind())
    async with stage.worker(concurrency=2):
        await stage.recorder.receive("started", job_id=chain.id)
        stage.reaped("long")
        lost = await stage.recorder.receive("lost", job_id=chain.id)
        running = await stage.job(chain)
        go_on.set()
        await stage.recorder.receive("completed", job_id=chain.id)

    assert reasons == ["taken_by_another_worker"]
    assert (lost.attempt, lost.detail) == (1, "taken_by_another_worker")
    assert (running.status, running.attempt) == ("running", 2)
    assert (await stage.job(chain)).output == 2


async def test_a_worker_does_not_reap_what_it_still_holds(stage: Stage) -> None:
    go_on = asyncio.Event()

    @stage.jobs.job
    async def long() -> str:
        await go_on.wait()
        return "done"

    @stage.jobs.job
    async def quick() -> None: ...

    lost = await stage.start(quick.bind())
    terms = (TypeTerms("quick", 1, 25),)
    await stage.store.perform(ClaimJobs(terms, 1, "another", "another token"))
    chain = await stage.start(long.bind())
    async with stage.worker(lease=1000):
        await stage.recorder.receive("started", job_id=chain.id)
        stage.clock.advance(2000)
        await stage.recorder.receive("reaped", job_id=lost.id)
        go_on.set()
        await stage.ended(chain)

    assert (await stage.job(chain)).attempt == 1
    assert not stage.recorder.find("reaped", job_id=chain.id)


async def test_a_handler_that_will_not_end_loses_its_job_in_the_end(stage: Stage) -> None:
    """Its lease is renewed no more once it was aborted, so that another attempt may be made."""
    over = asyncio.Event()

    @stage.jobs.job(timeout=0.02)
    async def endless(attempt: Attempt) -> str:
        while attempt.job.attempt == 1 and not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    chain = await stage.start(endless.bind())
    async with stage.worker(concurrency=2):
        try:
            await stage.recorder.receive("started", job_id=chain.id)
            await soon(_aborted(stage, chain))
            stage.clock.advance(LEASE + 1)
            await stage.recorder.receive("reaped", job_id=chain.id)
            await stage.recorder.receive("completed", job_id=chain.id)
        finally:
            over.set()

    job = await stage.job(chain)
    assert (job.attempt, job.output) == (2, "done")


async def _aborted(stage: Stage, chain: Chain[Any]) -> None:
    """Wait until the handler has been cancelled, and renewals have had time to come, had they been due."""
    first = len(stage.recorder.find("renewed"))

    @stage.jobs.job(name="bystander")
    async def bystander(attempt: Attempt) -> None:
        await stage.recorder.receive("renewed", times=first + 2, job_id=attempt.job.id)

    async with Worker(stage.client, types=bystander, lease=LEASE, poll_interval=0.02):
        await stage.ended(await stage.start(bystander.bind()))
