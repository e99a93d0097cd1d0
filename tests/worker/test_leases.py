"""Leases: renewed in batches from a thread of their own, given up before they can have run out."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from holdfast import Attempt, Jobs, Queue, Retry, Store, SyncAttempt
from holdfast.engine.operations import Renew
from holdfast.supervisor import Group
from holdfast.testing.clock import ManualClock
from holdfast.worker.held_claims import ticks
from holdfast.worker.run_options import Terms
from tests.worker.faulty import FaultyStore
from tests.worker.stage import LEASE, PATIENCE, Stage


@pytest.fixture
def faulty(store: Store) -> FaultyStore:
    return FaultyStore(store)


@pytest.fixture
async def stage(faulty: FaultyStore, clock: ManualClock) -> Stage:
    return Stage(faulty, clock)


async def test_a_lease_is_renewed_while_the_handler_works(stage: Stage) -> None:
    @stage.jobs.job
    async def long(attempt: Attempt) -> None:
        stage.clock.advance(LEASE / 2)
        await stage.recorder.receive("renewed", times=2, job_id=attempt.job.id)
        job = await stage.job(attempt.job.id)
        assert job.renewed_at is not None
        assert attempt.job.renewed_at is not None
        assert (job.renewed_at - attempt.job.renewed_at).total_seconds() == LEASE / 2
        assert job.leased_until is not None
        assert (job.leased_until - job.renewed_at).total_seconds() == LEASE

    chain = await stage.start(long.bind())
    async with stage.worker():
        assert (await stage.ended(chain)).kind == "completed"


@pytest.mark.parametrize("by", ["worker", "type", "type without a lease"])
async def test_a_lease_is_renewed_after_the_interval(stage: Stage, by: str) -> None:
    beside: dict[str, Any] = {"lease": 3600, "renew_interval": 0.05}
    of_type: dict[str, Any] = {"type": beside, "type without a lease": {"renew_interval": 0.05}}.get(by, {})
    of_worker = beside if by == "worker" else {"lease": 3600}

    @stage.jobs.job(**of_type)
    async def long(attempt: Attempt) -> None:
        # Without the interval the first renewal would come after twenty minutes.
        await stage.recorder.receive("renewed", times=3, job_id=attempt.job.id)

    chain = await stage.start(long.bind())
    async with stage.worker(**of_worker):
        assert (await stage.ended(chain)).kind == "completed"


@pytest.mark.parametrize("interval", [0.01, 20, 33, 53, 54, 55, 59.9])
def test_an_attempt_is_given_up_after_a_renewal_was_due_and_before_its_lease_ends(interval: float) -> None:
    @Jobs().job(lease=60, renew_interval=interval)
    async def any_type() -> None: ...

    terms = Terms(Retry(), 60, None, None).of(any_type)

    assert interval < terms.abort_after < 60
    assert terms.abort_after >= 54


def test_the_worker_s_interval_belongs_to_the_worker_s_lease() -> None:
    terms = Terms(Retry(), 60, 25, None)

    def renewed_after(**options: Any) -> float:
        @Jobs().job(**options)
        async def any_type() -> None: ...

        return terms.of(any_type).renew_interval

    assert renewed_after() == 25
    assert renewed_after(lease=9) == 3
    assert renewed_after(lease=9, renew_interval=4) == 4
    assert renewed_after(renew_interval=50) == 50
    with pytest.raises(ValueError, match=r"job type 'any_type': renew_interval \(60 s\) must be shorter"):
        renewed_after(renew_interval=60)


def test_an_interval_that_is_no_shorter_than_the_lease_is_refused(stage: Stage) -> None:
    async def long() -> None: ...

    with pytest.raises(ValueError, match="must be shorter than the lease"):
        stage.jobs.job(lease=5, renew_interval=5)(long)
    with pytest.raises(ValueError, match="must be shorter than the lease"):
        Group(lease=5, renew_interval=6)
    with pytest.raises(ValueError, match="must be shorter than the lease"):
        Queue("letters", store="memory://", visibility_timeout=5, renew_interval=5)
    stage.jobs.job(long)
    with pytest.raises(ValueError, match="must be shorter than the lease"):
        stage.worker(lease=5, renew_interval=5)
    with pytest.raises(ValueError, match="renew_interval must be more than 0"):
        stage.worker(renew_interval=0)


async def test_renewals_that_are_due_together_go_together(stage: Stage, faulty: FaultyStore) -> None:
    @stage.jobs.job
    async def long(attempt: Attempt) -> None:
        await stage.recorder.receive("renewed", times=2, job_id=attempt.job.id)

    await stage.client.start_many([long.bind() for _ in range(5)])
    async with stage.worker(concurrency=5):
        await stage.recorder.receive("completed", times=5)

    renewals = [operation for operation in faulty.performed if isinstance(operation, Renew)]
    assert {len(renewal.claims) for renewal in renewals[:2]} == {5}


async def test_short_jobs_are_never_renewed(stage: Stage, faulty: FaultyStore) -> None:
    @stage.jobs.job
    async def quick() -> None: ...

    await stage.client.start_many([quick.bind() for _ in range(100)])
    async with stage.worker(lease=60):
        await stage.recorder.receive("completed", times=100)

    assert faulty.count("renew") == 0


async def test_each_type_is_renewed_by_its_own_lease(stage: Stage, faulty: FaultyStore) -> None:
    over = asyncio.Event()

    @stage.jobs.job(lease=1000)
    async def patient() -> None:
        await over.wait()

    @stage.jobs.job
    async def hasty(attempt: Attempt) -> None:
        await stage.recorder.receive("renewed", times=3, job_id=attempt.job.id)

    await stage.start(patient.bind())
    async with stage.worker():
        await stage.ended(await stage.start(hasty.bind()))
        over.set()

    renewed = {
        claim.job_id for operation in faulty.performed if isinstance(operation, Renew) for claim, _ in operation.claims
    }
    assert len(renewed) == 1


async def test_a_handler_that_blocks_the_event_loop_keeps_its_job_and_is_named(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if getattr(record, "holdfast_event", None) == "loop_blocked":
                named.append(record)
                stage.recorder.then("renewed", go_on.set)

    named: list[logging.LogRecord] = []
    listener = Listener()
    logging.getLogger("holdfast").addHandler(listener)

    @stage.jobs.job
    async def selfish() -> str:
        assert go_on.wait(PATIENCE)
        return "done"

    chain = await stage.start(selfish.bind())
    try:
        async with stage.worker():
            event = await stage.ended(chain)
    finally:
        logging.getLogger("holdfast").removeHandler(listener)

    assert event.kind == "completed"
    assert stage.recorder.find("renewed", job_id=chain.id)
    assert "the handler of 'selfish' blocks the event loop" in named[0].getMessage()
    assert "in selfish: assert go_on.wait(PATIENCE)" in named[0].getMessage()
    assert "\n" not in named[0].getMessage()
    stack = named[0].__dict__["holdfast_stack"]
    assert "test_leases.py" in stack[0]
    assert len(stack) <= 8
    assert named[0].__dict__["holdfast_type"] == "selfish"
    assert "runs again" in caplog.text


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
@pytest.mark.parametrize("trouble", ["refused", "hanging"])
async def test_an_attempt_gives_up_before_its_lease_can_have_run_out(
    stage: Stage, faulty: FaultyStore, trouble: str, plain: bool
) -> None:
    reasons: list[str | None] = []
    at: list[float] = []
    over = threading.Event()

    if plain:

        @stage.jobs.job(name="cut_off")
        def cut_off(attempt: SyncAttempt) -> str:
            reasons.append(attempt.signal.wait_sync(PATIENCE))
            at.append(ticks())
            over.set()
            return "too late"

    else:

        @stage.jobs.job(name="cut_off")
        async def cut_off_async(attempt: Attempt) -> str:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                reasons.append(attempt.signal.reason)
                at.append(ticks())
                over.set()
            return "too late"

    fault = faulty.fail("renew", times=None) if trouble == "refused" else None
    chain = await stage.start(stage.jobs["cut_off"].bind())
    begun = ticks()
    async with stage.worker():
        if trouble == "hanging":
            faulty.hold.clear()
        try:
            event = await stage.ended(chain)
        finally:
            faulty.hold.set()

    # Nobody waits for a plain handler whose attempt was aborted; it may still be on its way.
    await asyncio.to_thread(over.wait, PATIENCE)
    assert reasons == ["error"]
    assert LEASE / 2 < at[0] - begun < LEASE
    assert event.kind == "retrying"
    assert "could not be renewed" in str(event.error)
    assert fault is None or fault.met >= 2


async def test_a_few_renewals_that_fail_do_no_harm(stage: Stage, faulty: FaultyStore) -> None:
    @stage.jobs.job
    async def long(attempt: Attempt) -> str:
        await stage.recorder.receive("renewed", times=2, job_id=attempt.job.id)
        return "done"

    fault = faulty.fail("renew", times=2)
    chain = await stage.start(long.bind())
    async with stage.worker():
        event = await stage.ended(chain)

    assert event.kind == "completed"
    assert fault.met == 2
    assert len(stage.recorder.find("store_error")) == 2


async def test_a_renewal_whose_answer_is_lost_is_sent_again(stage: Stage, faulty: FaultyStore) -> None:
    @stage.jobs.job
    async def long(attempt: Attempt) -> str:
        await stage.recorder.receive("renewed", times=1, job_id=attempt.job.id)
        return "done"

    faulty.fail("renew", when="after")
    chain = await stage.start(long.bind())
    async with stage.worker():
        event = await stage.ended(chain)

    assert event.kind == "completed"
    assert faulty.count("renew") >= 2


async def test_an_error_that_the_store_does_not_name_stops_no_renewals(
    stage: Stage, faulty: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    @stage.jobs.job
    async def long(attempt: Attempt) -> str:
        await stage.recorder.receive("renewed", times=1, job_id=attempt.job.id)
        return "done"

    faulty.fail("renew", error=ZeroDivisionError("a bug"))
    chain = await stage.start(long.bind())
    async with stage.worker():
        assert (await stage.ended(chain)).kind == "completed"

    assert "a bug" in caplog.text


async def test_a_claim_counts_from_when_it_was_asked_for(
    stage: Stage, faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease runs from the claim in the store: of one whose answer took that long, nothing is left."""
    long = 3 * PATIENCE

    @stage.jobs.job
    async def cut_off() -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr("holdfast.worker.claimer.ticks", lambda: ticks() - long)
    faulty.fail("renew", times=None)
    chain = await stage.start(cut_off.bind())
    async with stage.worker(lease=long):
        event = await stage.ended(chain)

    assert "LeaseInDanger" in str(event.error)
