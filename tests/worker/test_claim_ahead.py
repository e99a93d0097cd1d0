"""Jobs that are claimed ahead of free slots: when, how many run, and how the others are returned."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from holdfast import Chain, Store
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs, GetJobs
from holdfast.testing.clock import ManualClock
from holdfast.worker.held_claims import lease_clock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness

NEVER = 1e9

_in_context: ContextVar[int] = ContextVar("in_context", default=0)


class Gated:
    """A harness with a type whose handlers wait for a gate, in one worker or in all."""

    def __init__(self, harness: WorkerHarness) -> None:
        self.harness = harness
        self.gate = asyncio.Event()
        self.running = self.most = 0

        @harness.jobs.job
        async def pass_gate(closed: bool = True) -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            if closed:
                await self.gate.wait()
            self.running -= 1

        self.type = pass_gate

    async def measured(self) -> None:
        """Run one attempt, so that the type is measured."""
        await self.harness.ended(await self.harness.start(self.type.bind(closed=False)))

    async def claimed(self, number: int) -> list[Chain[None]]:
        """Start this many jobs and wait until all are claimed."""
        chains = await self.harness.client.start_many([self.type.bind() for _ in range(number)])
        for chain in chains:
            await self.harness.recorder.receive("claimed", job_id=chain.id)
        return chains


@pytest.mark.usefixtures("always_fast")
async def test_short_jobs_are_claimed_ahead_and_run_within_the_concurrency(store: Store, clock: ManualClock) -> None:
    faulty = FaultyStore(store)
    most = 0

    def watch(operation: object, answer: list[Record]) -> None:
        nonlocal most
        if isinstance(operation, ClaimJobs):
            most = max(most, len(answer) - operation.limit)

    faulty.watch = watch
    gated = Gated(WorkerHarness(faulty, clock))
    await gated.harness.client.start_many([gated.type.bind(closed=False) for _ in range(60)])

    async with gated.harness.worker(concurrency=3):
        await gated.harness.recorder.receive("completed", times=60)

    assert most > 0
    assert gated.most <= 3
    assert {event.attempt for event in gated.harness.recorder.find("completed")} == {1}


@pytest.mark.parametrize(
    ("fast", "options"), [(NEVER, {"job_delay": 0.001}), (0.0, {})], ids=["a pause between jobs", "slow handlers"]
)
async def test_nothing_is_claimed_ahead(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, fast: float, options: dict[str, float]
) -> None:
    monkeypatch.setattr("holdfast.worker.durations.FAST", fast)
    monkeypatch.setattr("holdfast.worker.durations.ASSUMED", 0.0)
    faulty = FaultyStore(store)
    gated = Gated(WorkerHarness(faulty, clock))
    await gated.harness.client.start_many([gated.type.bind(closed=False) for _ in range(20)])

    async with gated.harness.worker(concurrency=2, **options):
        await gated.harness.recorder.receive("completed", times=20)

    claims = [operation for operation in faulty.performed if isinstance(operation, ClaimJobs)]
    assert {claim.ahead for claim in claims} == {0}


@pytest.mark.usefixtures("always_fast")
async def test_the_first_claim_of_an_unmeasured_type_takes_nothing_ahead(store: Store, clock: ManualClock) -> None:
    faulty = FaultyStore(store)
    gated = Gated(WorkerHarness(faulty, clock))
    await gated.harness.client.start_many([gated.type.bind(closed=False) for _ in range(5)])

    async with gated.harness.worker(concurrency=2):
        await gated.harness.recorder.receive("completed", times=5)

    first = next(operation for operation in faulty.performed if isinstance(operation, ClaimJobs))
    assert (first.limit, first.ahead) == (2, 0)


@pytest.mark.usefixtures("always_fast")
async def test_a_job_that_is_claimed_ahead_does_not_begin_in_the_context_of_another(harness: WorkerHarness) -> None:
    found: list[int] = []

    @harness.jobs.job
    async def read_and_set(number: int) -> None:
        found.append(_in_context.get())
        _in_context.set(number)

    await harness.client.start_many([read_and_set.bind(number) for number in range(1, 11)])
    async with harness.worker(concurrency=1):
        await harness.recorder.receive("completed", times=10)

    assert found == [0] * 10


@pytest.mark.usefixtures("always_fast")
async def test_a_stop_releases_jobs_that_have_not_begun_without_an_attempt(harness: WorkerHarness) -> None:
    gated = Gated(harness)
    async with harness.worker(concurrency=2) as worker:
        await gated.measured()
        chains = await gated.claimed(6)
        await harness.recorder.receive("started", times=3)
        assert (worker.busy, gated.running) == (2, 2)
        worker.stop()
        await harness.recorder.receive("released", times=4)
        gated.gate.set()

    jobs = [await harness.job(chain) for chain in chains]
    assert [(job.status, job.attempt) for job in jobs] == [("completed", 1)] * 2 + [("pending", 0)] * 4
    assert gated.most == 2


@pytest.mark.usefixtures("always_fast")
async def test_workers_report_jobs_that_are_claimed_ahead_apart_from_running_ones(harness: WorkerHarness) -> None:
    gated = Gated(harness)
    async with harness.worker(concurrency=2) as worker:
        await gated.measured()
        await gated.claimed(5)
        await worker._duties[0].reporter.reported.wait()  # pyright: ignore[reportPrivateUsage]
        (live,) = await harness.client.workers()
        assert (live.busy, live.ahead, live.concurrency) == (2, 3, 2)
        gated.gate.set()


@pytest.mark.usefixtures("always_fast")
async def test_a_job_that_is_claimed_ahead_is_renewed_and_its_timeout_counts_from_its_begin(
    harness: WorkerHarness,
) -> None:
    gated = Gated(harness)

    @harness.jobs.job(timeout=1)
    async def brief() -> None: ...

    async with harness.worker(concurrency=1):
        await gated.measured()
        await harness.ended(await harness.start(brief.bind()))
        begun = lease_clock()
        _, waiting = await harness.client.start_many([gated.type.bind(), brief.bind()])
        await harness.recorder.receive("claimed", job_id=waiting.id)
        await harness.recorder.receive("renewed", job_id=waiting.id, times=6)
        assert lease_clock() - begun > 1
        gated.gate.set()
        await harness.ended(waiting)

    assert (await harness.job(waiting)).status == "completed"
    assert harness.recorder.find("started", "renewed", job_id=waiting.id)[0].kind == "renewed"


@pytest.mark.usefixtures("always_fast")
async def test_a_job_that_is_cancelled_while_it_is_claimed_ahead_does_not_begin(harness: WorkerHarness) -> None:
    gated = Gated(harness)
    async with harness.worker(concurrency=1):
        await gated.measured()
        _, waiting = await gated.claimed(2)
        await harness.client.cancel(waiting)
        gated.gate.set()
        await harness.recorder.receive("lost", "cancelled", job_id=waiting.id)

    assert "started" not in harness.recorder.kinds(waiting.id) or gated.most == 1
    assert (await harness.job(waiting)).status == "cancelled"


async def test_jobs_behind_handlers_that_become_slow_are_released_for_other_workers(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.durations.FAST", NEVER)
    monkeypatch.setattr("holdfast.worker.durations.ASSUMED", 0.0)
    monkeypatch.setattr("holdfast.worker.ahead_size.WINDOW", NEVER)
    gated = Gated(harness)
    async with harness.worker(concurrency=2, worker_id="slow"):
        await gated.measured()
        chains = await gated.claimed(6)
        await harness.recorder.receive("released", times=4)
        stuck = [chain for chain in chains if (await harness.job(chain)).worker == "slow"]
        async with harness.worker(concurrency=4, worker_id="other"):
            for chain in chains:
                if chain not in stuck:
                    await harness.recorder.receive("started", job_id=chain.id)
            assert gated.running == 6
            gated.gate.set()
            for chain in chains:
                await harness.recorder.receive("completed", job_id=chain.id)

    assert len(stuck) == 2
    assert {(await harness.job(chain)).attempt for chain in chains} == {1}


async def test_jobs_behind_a_blocked_event_loop_are_released(
    harness: WorkerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.durations.FAST", NEVER)
    monkeypatch.setattr("holdfast.worker.durations.ASSUMED", 0.0)
    monkeypatch.setattr("holdfast.worker.ahead_size.WINDOW", NEVER)
    monkeypatch.setattr("holdfast.worker.watchdog.BLOCKED_INTERVAL", 0.02)
    found: list[Record | None] = []

    @harness.jobs.job
    async def block(ids: list[str]) -> None:
        end = lease_clock() + TIMEOUT
        while ids and lease_clock() < end:  # blocks the event loop until the other jobs are released
            jobs = harness.store.perform_sync(GetJobs(tuple(ids)))
            found[:] = jobs
            if all(job is not None and job.attempt == 0 for job in found):
                return

    async with harness.worker(concurrency=1) as worker:
        await harness.ended(await harness.start(block.bind([])))
        ids = [f"behind-{number}" for number in range(3)]
        await harness.client.start_many(
            [block.bind(ids).options(priority=1), *(block.bind([]).options(id=each) for each in ids)]
        )
        await harness.recorder.receive("released", times=3)
        worker.stop()

    assert [job is not None and (job.status, job.attempt) for job in found] == [(Status.PENDING, 0)] * 3
