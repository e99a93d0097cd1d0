"""Renewals that fail or come late: the attempt is aborted before its lease can expire."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from holdfast import Attempt, SyncAttempt
from holdfast.engine.operations import ClaimJobs, Operation
from holdfast.worker import attempt_events, claimer, lease_guard, lease_renewer, reaper, runner
from holdfast.worker.held_claims import lease_clock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness


class LeaseClock:
    """The worker's clock for leases, moved by the test. Counts how often the lease guard reads it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self._readings = 0
        self._read = asyncio.Event()
        for module in (attempt_events, claimer, reaper, lease_renewer, runner):
            monkeypatch.setattr(module, "lease_clock", lambda: self.now)
        monkeypatch.setattr(lease_guard, "lease_clock", self._read_by_guard)

    async def guard_checks(self) -> None:
        """Wait until the lease guard has checked every claim at the present time."""
        enough = self._readings + 10
        async with asyncio.timeout(TIMEOUT):
            while self._readings < enough:
                self._read.clear()
                await self._read.wait()

    def _read_by_guard(self) -> float:
        self._readings += 1
        self._read.set()
        return self.now


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("trouble", ["refused", "hanging"])
async def test_an_attempt_is_aborted_before_its_lease_can_expire(
    harness: WorkerHarness, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch, trouble: str, plain: bool
) -> None:
    clock = LeaseClock(monkeypatch)
    lease = 0.6  # short: the guard sleeps for up to half of it in real time
    reasons: list[str | None] = []
    over = threading.Event()

    if plain:

        @harness.jobs.job(name="cut_off")
        def cut_off(attempt: SyncAttempt) -> str:
            reasons.append(attempt.signal.wait_sync(TIMEOUT))
            over.set()
            return "too late"

    else:

        @harness.jobs.job(name="cut_off")
        async def cut_off_async(attempt: Attempt) -> str:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                reasons.append(attempt.signal.reason)
                over.set()
            return "too late"

    if trouble == "refused":
        faulty.fail("renew", times=None)
    chain = await harness.start(harness.jobs["cut_off"].bind())
    async with harness.worker(lease=lease):
        if trouble == "hanging":
            faulty.hold.clear()
        try:
            await harness.recorder.receive("claimed")
            clock.now += lease / 2
            await clock.guard_checks()
            if trouble == "refused":
                await harness.recorder.receive("store_error", times=2)
            assert reasons == []

            clock.now += lease * 0.45
            event = await harness.ended(chain)
        finally:
            faulty.hold.set()

    # The worker does not wait for a plain handler whose attempt was aborted.
    assert await asyncio.to_thread(over.wait, TIMEOUT)
    assert reasons == ["error"]
    assert event.kind == "retrying"
    assert "could not be renewed" in str(event.error)


async def test_an_attempt_survives_a_few_failed_renewals(harness: WorkerHarness, faulty: FaultyStore) -> None:
    @harness.jobs.job
    async def long(attempt: Attempt) -> str:
        await harness.recorder.receive("renewed", times=2, job_id=attempt.job.id)
        return "done"

    fault = faulty.fail("renew", times=2)
    chain = await harness.start(long.bind())
    async with harness.worker():
        event = await harness.ended(chain)

    assert event.kind == "completed"
    assert fault.met == 2
    assert len(harness.recorder.find("store_error")) == 2


async def test_a_renewal_whose_answer_is_lost_is_sent_again(harness: WorkerHarness, faulty: FaultyStore) -> None:
    @harness.jobs.job
    async def long(attempt: Attempt) -> str:
        await harness.recorder.receive("renewed", times=1, job_id=attempt.job.id)
        return "done"

    faulty.fail("renew", when="after")
    chain = await harness.start(long.bind())
    async with harness.worker():
        event = await harness.ended(chain)

    assert event.kind == "completed"
    assert faulty.count("renew") >= 2


async def test_renewals_continue_after_an_error_that_the_store_does_not_translate(
    harness: WorkerHarness, faulty: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    @harness.jobs.job
    async def long(attempt: Attempt) -> str:
        await harness.recorder.receive("renewed", times=1, job_id=attempt.job.id)
        return "done"

    faulty.fail("renew", error=ZeroDivisionError("a bug"))
    chain = await harness.start(long.bind())
    async with harness.worker():
        assert (await harness.ended(chain)).kind == "completed"

    assert "a bug" in caplog.text


async def test_a_lease_counts_from_the_claim_request(
    harness: WorkerHarness, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease begins in the store: after a slow answer nothing of it is left, and the job is returned unbegun."""
    long = 3 * TIMEOUT
    claims, begun = list[Operation[Any]](), list[int]()

    @harness.jobs.job
    async def claimed_twice() -> None:
        begun.append(len(claims))

    def answered(operation: Operation[Any], answer: Any) -> None:
        if isinstance(operation, ClaimJobs) and answer:
            claims.append(operation)

    monkeypatch.setattr("holdfast.worker.claimer.lease_clock", lambda: lease_clock() - (0 if claims else long))
    faulty.watch = answered
    chain = await harness.start(claimed_twice.bind())
    async with harness.worker(lease=long):
        await harness.recorder.receive("completed")

    assert begun == [2], "the handler is called after the second claim"
    assert (await harness.job(chain)).attempt == 1
