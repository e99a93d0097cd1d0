"""Leases: a thread renews them in batches; an attempt is aborted before its lease can expire."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, Unpack

import pytest

from holdfast import Attempt, Jobs, Queue, Retry
from holdfast.engine.operations import Renew
from holdfast.registry.options import TypeKeywords
from holdfast.supervisor import Group
from holdfast.worker.run_options import WorkerDefaults
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import LEASE, TIMEOUT, WorkerHarness


async def test_a_lease_is_renewed_while_the_handler_works(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def long(attempt: Attempt) -> None:
        harness.clock.advance(LEASE / 2)
        # The first of these two renewals may have been sent before the clock moved.
        renewed = len(harness.recorder.find("renewed", job_id=attempt.job.id)) + 2
        await harness.recorder.receive("renewed", times=renewed, job_id=attempt.job.id)
        job = await harness.job(attempt.job.id)
        assert job.renewed_at is not None
        assert attempt.job.renewed_at is not None
        assert (job.renewed_at - attempt.job.renewed_at).total_seconds() == LEASE / 2
        assert job.leased_until is not None
        assert (job.leased_until - job.renewed_at).total_seconds() == LEASE

    chain = await harness.start(long.bind())
    async with harness.worker():
        assert (await harness.ended(chain)).kind == "completed"


@pytest.mark.parametrize("by", ["worker", "type", "type without a lease"])
async def test_a_lease_is_renewed_after_the_interval(harness: WorkerHarness, by: str) -> None:
    beside: dict[str, Any] = {"lease": 3600, "renew_interval": 0.05}
    of_type: TypeKeywords = {}
    if by != "worker":
        of_type = {"renew_interval": 0.05} if by == "type without a lease" else {"lease": 3600, "renew_interval": 0.05}
    of_worker = beside if by == "worker" else {"lease": 3600}

    @harness.jobs.job(**of_type)
    async def long(attempt: Attempt) -> None:
        # Without the interval the first renewal would happen after twenty minutes.
        await harness.recorder.receive("renewed", times=3, job_id=attempt.job.id)

    chain = await harness.start(long.bind())
    async with harness.worker(**of_worker):
        assert (await harness.ended(chain)).kind == "completed"


@pytest.mark.parametrize("interval", [0.01, 20, 33, 53, 54, 55, 59.9])
def test_an_attempt_is_aborted_after_a_renewal_was_due_and_before_its_lease_expires(interval: float) -> None:
    @Jobs().job(lease=60, renew_interval=interval)
    async def any_type() -> None: ...

    terms = WorkerDefaults(Retry(), 60, None, None).of(any_type)

    assert interval < terms.abort_after < 60
    assert terms.abort_after >= 54


def test_the_worker_s_interval_belongs_to_the_worker_s_lease() -> None:
    terms = WorkerDefaults(Retry(), 60, 25, None)

    def renewed_after(**options: Unpack[TypeKeywords]) -> float:
        @Jobs().job(**options)
        async def any_type() -> None: ...

        return terms.of(any_type).renew_interval

    assert renewed_after() == 25
    assert renewed_after(lease=9) == 3
    assert renewed_after(lease=9, renew_interval=4) == 4
    assert renewed_after(renew_interval=50) == 50
    with pytest.raises(ValueError, match=r"job type 'any_type': renew_interval \(60 s\) must be shorter"):
        renewed_after(renew_interval=60)


def test_an_interval_that_is_no_shorter_than_the_lease_is_refused(harness: WorkerHarness) -> None:
    async def long() -> None: ...

    with pytest.raises(ValueError, match="must be shorter than the lease"):
        harness.jobs.job(lease=5, renew_interval=5)(long)
    with pytest.raises(ValueError, match="must be shorter than the lease"):
        Group(lease=5, renew_interval=6)
    with pytest.raises(ValueError, match="must be shorter than the lease"):
        Queue("letters", store="memory://", visibility_timeout=5, renew_interval=5)
    harness.jobs.job(long)
    with pytest.raises(ValueError, match="must be shorter than the lease"):
        harness.worker(lease=5, renew_interval=5)
    with pytest.raises(ValueError, match="renew_interval must be more than 0"):
        harness.worker(renew_interval=0)


async def test_renewals_that_are_due_together_are_one_operation(harness: WorkerHarness, faulty: FaultyStore) -> None:
    @harness.jobs.job
    async def long(attempt: Attempt) -> None:
        await harness.recorder.receive("renewed", times=2, job_id=attempt.job.id)

    await harness.client.start_many([long.bind() for _ in range(5)])
    async with harness.worker(concurrency=5):
        await harness.recorder.receive("completed", times=5)

    renewals = [operation for operation in faulty.performed if isinstance(operation, Renew)]
    assert {len(renewal.claims) for renewal in renewals[:2]} == {5}


async def test_short_jobs_are_never_renewed(harness: WorkerHarness, faulty: FaultyStore) -> None:
    @harness.jobs.job
    async def quick() -> None: ...

    await harness.client.start_many([quick.bind() for _ in range(100)])
    async with harness.worker(lease=60):
        await harness.recorder.receive("completed", times=100)

    assert faulty.count("renew") == 0


async def test_each_type_is_renewed_by_its_own_lease(harness: WorkerHarness, faulty: FaultyStore) -> None:
    over = asyncio.Event()

    @harness.jobs.job(lease=1000)
    async def patient() -> None:
        await over.wait()

    @harness.jobs.job
    async def hasty(attempt: Attempt) -> None:
        await harness.recorder.receive("renewed", times=3, job_id=attempt.job.id)

    await harness.start(patient.bind())
    async with harness.worker():
        await harness.ended(await harness.start(hasty.bind()))
        over.set()

    renewed = {
        claim.job_id for operation in faulty.performed if isinstance(operation, Renew) for claim, _ in operation.claims
    }
    assert len(renewed) == 1


async def test_a_handler_that_blocks_the_event_loop_keeps_its_job_and_is_named(
    harness: WorkerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if getattr(record, "holdfast_event", None) == "loop_blocked":
                named.append(record)
                harness.recorder.then("renewed", go_on.set)

    named: list[logging.LogRecord] = []
    listener = Listener()
    logging.getLogger("holdfast").addHandler(listener)

    @harness.jobs.job
    async def selfish() -> str:
        assert go_on.wait(TIMEOUT)
        return "done"

    chain = await harness.start(selfish.bind())
    try:
        async with harness.worker():
            event = await harness.ended(chain)
    finally:
        logging.getLogger("holdfast").removeHandler(listener)

    assert event.kind == "completed"
    assert harness.recorder.find("renewed", job_id=chain.id)
    assert "the handler of 'selfish' blocks the event loop" in named[0].getMessage()
    assert "in selfish: assert go_on.wait(TIMEOUT)" in named[0].getMessage()
    assert "\n" not in named[0].getMessage()
    stack = named[0].__dict__["holdfast_stack"]
    assert "test_leases.py" in stack[0]
    assert len(stack) <= 8
    assert named[0].__dict__["holdfast_type"] == "selfish"
    assert "runs again" in caplog.text
