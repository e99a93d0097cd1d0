"""The outcomes of an attempt: returned, raised, or ended in an unusual way."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from holdfast import Attempt, Cancel, Fail, Reschedule, Retry
from tests.worker.declared_outcomes import declare
from tests.worker.harness import WorkerHarness


async def test_an_error_is_retried_after_the_backoff(harness: WorkerHarness) -> None:
    @harness.jobs.job(retry=Retry(initial=10, multiplier=3, maximum=50, jitter=0, max_attempts=5))
    async def flaky() -> None:
        raise ValueError("not today")

    chain = await harness.start(flaky.bind())
    delays: list[float] = []
    async with harness.worker():
        for attempt in range(1, 5):
            event = await harness.ended(chain, times=attempt)
            assert (event.kind, event.attempt) == ("retrying", attempt)
            job = await harness.job(chain)
            assert job.scheduled_at is not None
            delay = (job.scheduled_at - _now(harness)).total_seconds()
            delays.append(delay)
            harness.clock.advance(delay)
        event = await harness.ended(chain, times=5)

    job = await harness.job(chain)
    assert delays == [10, 30, 50, 50]
    assert (event.kind, job.status, job.attempt) == ("failed", "failed", 5)
    assert job.error is not None
    assert str(job.error) == "ValueError: not today"
    assert "flaky" in job.error.traceback
    report = await harness.report(chain)
    assert [(each.number, each.outcome) for each in report.attempts] == [(n, "failed") for n in range(1, 6)]


@pytest.mark.parametrize(
    ("attempt", "spread", "delay"),
    [(1, 0.5, 10), (2, 0.5, 20), (6, 0.5, 300), (9, 0.5, 300), (1, 0, 9), (6, 0, 270), (6, 1, 330), (10_000, 0.5, 300)],
)
def test_the_backoff_doubles_up_to_its_cap_and_jitter_applies_after_it(
    attempt: int, spread: float, delay: float
) -> None:
    assert Retry().delay(attempt, spread=lambda: spread) == pytest.approx(delay)


def test_zero_jitter_gives_the_exact_delay() -> None:
    assert {Retry(jitter=0).delay(1) for _ in range(100)} == {10}


def test_jitter_keeps_its_bounds() -> None:
    delays = [Retry(initial=100, maximum=100, jitter=0.1).delay(3) for _ in range(1000)]

    assert 90 <= min(delays) < 92
    assert 108 < max(delays) <= 110


async def test_unlimited_attempts_never_fail_the_job(harness: WorkerHarness) -> None:
    @harness.jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=None))
    async def flaky(attempt: Attempt) -> int:
        if attempt.job.attempt < 40:
            raise ValueError
        return attempt.job.attempt

    chain = await harness.start(flaky.bind())
    async with harness.worker():
        await harness.recorder.receive("completed", job_id=chain.id)

    assert (await harness.job(chain)).output == 40


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_reschedule_by_delay_or_at_a_time(harness: WorkerHarness, plain: bool) -> None:
    tomorrow = _now(harness) + timedelta(days=1)

    def decide(attempt: int) -> str:
        if attempt == 1:
            raise Reschedule(delay=30)
        if attempt == 2:
            raise Reschedule(at=tomorrow)
        return "at last"

    job_type = declare(harness, decide, plain=plain)
    chain = await harness.start(job_type.bind())
    async with harness.worker():
        assert (await harness.ended(chain)).kind == "rescheduled"
        first = await harness.job(chain)
        harness.clock.advance(30)
        assert (await harness.ended(chain, times=2)).kind == "rescheduled"
        second = await harness.job(chain)
        harness.clock.move_to(int(tomorrow.timestamp() * 1e6))
        await harness.recorder.receive("completed", job_id=chain.id)

    assert (first.status, first.scheduled_at) == ("pending", datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC))
    assert second.scheduled_at == tomorrow
    assert (await harness.job(chain)).attempt == 3


async def test_reschedule_keeps_its_cause_as_the_error(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def polite() -> None:
        try:
            raise ConnectionError("busy")
        except ConnectionError as error:
            raise Reschedule(delay=5) from error

    chain = await harness.start(polite.bind())
    async with harness.worker():
        await harness.ended(chain)

    assert str((await harness.job(chain)).error) == "ConnectionError: busy"


async def test_a_reschedule_counts_as_an_attempt(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hesitant() -> None:
        raise Reschedule(delay=0)

    chain = await harness.start(hesitant.bind(), max_attempts=3)
    async with harness.worker():
        await harness.recorder.receive("failed", job_id=chain.id)

    assert (await harness.job(chain)).attempt == 3


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize(
    ("error", "status"), [(Fail("no use"), "failed"), (Cancel("no need"), "cancelled")], ids=["fail", "cancel"]
)
async def test_fail_and_cancel_end_the_job_at_once(
    harness: WorkerHarness, error: Exception, status: str, plain: bool
) -> None:
    def decide(attempt: int) -> str:
        raise error

    chain = await harness.start(declare(harness, decide, plain=plain).bind())
    async with harness.worker():
        assert (await harness.ended(chain)).kind == status

    job = await harness.job(chain)
    assert (job.status, job.attempt) == (status, 1)
    assert str(error) in str(job.error)


def _now(harness: WorkerHarness) -> datetime:
    return datetime.fromtimestamp(harness.clock() / 1e6, UTC)


@pytest.mark.parametrize("error", [None, ValueError, asyncio.CancelledError])
async def test_an_ended_attempt_leaves_no_objects(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture, error: type[BaseException] | None
) -> None:
    """The garbage collector does not track claims, so none may be part of a reference cycle."""
    # The event and the log record of a failed attempt refer to its exception, and so to the frames of the attempt.
    caplog.set_level(logging.CRITICAL, "holdfast")
    tasks: list[weakref.ref[asyncio.Task[None]]] = []

    @harness.jobs.job
    async def brief(attempt: Attempt) -> None:
        tasks.append(weakref.ref(cast("asyncio.Task[None]", asyncio.current_task())))
        if error is not None:
            raise error

    chain = await harness.start(brief.bind())
    async with harness.worker():
        await harness.ended(chain)

    harness.recorder.events.clear()
    gc.collect()
    assert [task() for task in tasks] == [None]


async def test_a_task_that_waits_for_the_signal_of_an_ended_attempt_is_not_kept(harness: WorkerHarness) -> None:
    waiting: list[weakref.ref[asyncio.Task[str]]] = []

    @harness.jobs.job
    async def careless(attempt: Attempt) -> None:
        watch = asyncio.create_task(attempt.signal.wait())
        waiting.append(weakref.ref(watch))
        await asyncio.sleep(0)

    chain = await harness.start(careless.bind())
    async with harness.worker():
        await harness.ended(chain)

    gc.collect()
    assert [task() for task in waiting] == [None]
