"""Durable steps of jobs that are claimed ahead of free slots."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast import Attempt, Retry, Store
from holdfast.engine.operations import GetSteps
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import WorkerHarness

JOBS = 60
SLOTS = 3


pytestmark = pytest.mark.usefixtures("always_fast")


class WithSteps:
    """A harness with a type that has one step. Its attempts fail before `succeeds_at`."""

    def __init__(self, store: Store, clock: ManualClock, *, succeeds_at: int = 1) -> None:
        self.store = FaultyStore(store)
        self.harness = WorkerHarness(self.store, clock)
        self.calls: Counter[int] = Counter()

        async def charge(order: int) -> int:
            self.calls[order] += 1
            return 10 * order

        @self.harness.jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=5))
        async def fulfil(attempt: Attempt, order: int) -> int:
            paid = await attempt.step("charge", charge, order)
            if attempt.job.attempt < succeeds_at:
                raise ValueError("again")
            return paid

        self.type = fulfil

    def reads(self) -> list[tuple[str, ...]]:
        """The jobs of each read of steps."""
        return [operation.job_ids for operation in self.store.performed if isinstance(operation, GetSteps)]

    async def run(self) -> list[int]:
        """Run all jobs. Returns their outputs."""
        chains = await self.harness.client.start_many([self.type.bind(order) for order in range(JOBS)])
        async with self.harness.worker(concurrency=SLOTS):
            await self.harness.recorder.receive("completed", times=JOBS)
        return [await self.harness.client.wait(chain) for chain in chains]


async def test_the_steps_of_jobs_that_are_claimed_ahead_are_read_together(store: Store, clock: ManualClock) -> None:
    steps = WithSteps(store, clock)

    await steps.run()

    reads = steps.reads()
    assert max(map(len, reads)) > SLOTS
    assert sorted(Counter(id for read in reads for id in read).values()) == [1] * JOBS


async def test_a_later_attempt_that_is_claimed_ahead_gets_the_stored_result(store: Store, clock: ManualClock) -> None:
    steps = WithSteps(store, clock, succeeds_at=3)

    outputs = await steps.run()

    assert outputs == [10 * order for order in range(JOBS)]
    assert set(steps.calls.values()) == {1}
    assert max(map(len, steps.reads())) > SLOTS


async def test_an_outage_during_the_read_ahead_delays_the_jobs(store: Store, clock: ManualClock) -> None:
    steps = WithSteps(store, clock, succeeds_at=2)
    fault = steps.store.fail("get_steps", times=10)

    outputs = await steps.run()

    assert fault.met == 10
    assert outputs == [10 * order for order in range(JOBS)]
    assert set(steps.calls.values()) == {1}
