"""Many idle workers: a start causes few claims, and another worker claims if the first does not."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from holdfast import Store
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import ClaimJobs
from holdfast.engine.wakeups import ANYTHING
from holdfast.stores.memory import MemoryStore
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import WorkerHarness

FLEET = 64
STARTS = 20


@pytest.fixture
def store(clock: ManualClock) -> Store:
    """Only with wake-ups: claims of workers that poll are not staggered."""
    store = MemoryStore(clock=clock)
    clock.subscribe(lambda: store.wakeups.send(ANYTHING))
    return store


async def test_a_start_causes_few_claims_of_many_idle_workers(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So long that no worker looks before the first one has claimed, however busy the machine is.
    monkeypatch.setattr("holdfast.worker.stagger.SOON", 5.0)
    monkeypatch.setattr("holdfast.worker.stagger.LATER", 10.0)
    monkeypatch.setattr("holdfast.worker.stagger.STEP", 10.0)
    monkeypatch.setattr("holdfast.worker.stagger.LONGEST", 20.0)
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)

    @harness.jobs.job
    async def hello() -> None: ...

    fleet = [_record(f"worker-{number}") for number in range(FLEET)]
    async with AsyncExitStack() as workers:
        for each in fleet:
            worker = await workers.enter_async_context(harness.worker(worker_id=each.id, poll_interval=600))
            await worker._duties[0].reporter.reported.wait()  # pyright: ignore[reportPrivateUsage]
            worker._duties[0].reporter._stagger.learn(fleet)  # pyright: ignore[reportPrivateUsage]
        before = _claims(faulty)
        for _ in range(STARTS):
            await harness.ended(await harness.start(hello.bind()))
        caused = _claims(faulty) - before

    # A worker whose claim was full claims again; none is full here. The first worker changes every second.
    assert caused <= 2 * STARTS


async def test_a_job_is_claimed_although_the_first_workers_are_dead(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    async with harness.worker(worker_id="alive", poll_interval=600) as worker:
        await worker._duties[0].reporter.reported.wait()  # pyright: ignore[reportPrivateUsage]
        dead = [_record(f"dead-{number}") for number in range(FLEET)]
        worker._duties[0].reporter._stagger.learn([_record("alive"), *dead])  # pyright: ignore[reportPrivateUsage]
        for _ in range(5):
            await harness.ended(await harness.start(hello.bind()))
        later = await harness.start(hello.bind(), delay=0.1)
        harness.clock.advance(1)
        await harness.ended(later)


def _claims(faulty: FaultyStore) -> int:
    return sum(isinstance(operation, ClaimJobs) for operation in faulty.performed)


def _record(id: str) -> WorkerRecord:
    return WorkerRecord(id, "host", 1, ("hello",), 10)
