"""Durable steps of jobs that are claimed ahead of free slots."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from holdfast import Attempt, Retry, Store
from holdfast.engine.operations import GetSteps, Settle
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

        @self.harness.jobs.job(retry=Retry(initial=0, jitter=0, max_attempts=5))
        async def fulfil(attempt: Attempt, order: int) -> int:
            paid = await attempt.step("charge", self.charge, order)
            if attempt.job.attempt < succeeds_at:
                raise ValueError("again")
            return paid

        self.type = fulfil

    async def charge(self, order: int) -> int:
        self.calls[order] += 1
        return 10 * order

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
    steps = WithSteps(store, clock, succeeds_at=2)

    await steps.run()

    reads = steps.reads()
    assert max(map(len, reads)) > SLOTS
    assert len(Counter(id for read in reads for id in read)) == JOBS


async def test_the_steps_of_jobs_that_no_worker_had_claimed_are_not_read(store: Store, clock: ManualClock) -> None:
    steps = WithSteps(store, clock)
    async with steps.harness.worker(concurrency=SLOTS):
        # Its steps are read: the worker does not know yet that the type uses steps.
        await steps.harness.client.start(steps.type.bind(0))
        await steps.harness.recorder.receive("completed")
        before = len(steps.reads())

        await steps.harness.client.start_many([steps.type.bind(order) for order in range(1, JOBS)])
        await steps.harness.recorder.receive("completed", times=JOBS)

    assert len(steps.reads()) == before
    assert set(steps.calls.values()) == {1}


async def test_completions_of_attempts_with_steps_are_written_together(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.worker.settler.LATEST", 1e9)
    steps = WithSteps(store, clock)

    outputs = await steps.run()

    assert outputs == [10 * order for order in range(JOBS)]
    written = [len(each.settlements) for each in steps.store.performed if isinstance(each, Settle)]
    assert max(written) > SLOTS


async def test_a_completion_that_may_be_written_later_is_written_in_time(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other slots are occupied, and more jobs wait for them: nothing else ends."""
    monkeypatch.setattr(Store, "most_held", 10)
    steps = WithSteps(store, clock)
    end = asyncio.Event()

    @steps.harness.jobs.job
    async def wait_after_step(attempt: Attempt, order: int) -> int:
        result = await attempt.step("charge", steps.charge, order)
        if order:
            await end.wait()
        return result

    async with steps.harness.worker(concurrency=SLOTS):
        first = await steps.harness.client.start(wait_after_step.bind(0))
        await steps.harness.recorder.receive("completed")
        assert await steps.harness.client.wait(first) == 0

        chains = await steps.harness.client.start_many([wait_after_step.bind(order) for order in (1, 2, 0, 3, 4, 5)])
        await steps.harness.recorder.receive("completed", times=2)
        assert [chain.id for chain in chains if (await steps.harness.job(chain.id)).status == "completed"] == [
            chains[2].id
        ]
        end.set()
        await steps.harness.recorder.receive("completed", times=7)


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
