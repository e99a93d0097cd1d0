"""Two claims at the same time, on a store that says that they overlap."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from holdfast import Store
from holdfast.engine.operations import ClaimedJobs, ClaimJobs, Operation
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import WorkerHarness, in_time

SLOTS = 400
JOBS = 1_000


class OverlappingStore(FaultyStore):
    """Performs claims at the same time. While `answering` is cleared, claims wait."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.answering = asyncio.Event()
        self.answering.set()
        self.unanswered: list[ClaimJobs] = []
        self.both = asyncio.Event()
        """Set while two claims wait for their answers."""

    async def perform(self, operation: Operation[Any], /) -> Any:
        if not isinstance(operation, ClaimJobs):
            return await super().perform(operation)
        claim: Operation[Any] = operation
        self.unanswered.append(operation)
        if len(self.unanswered) == 2:
            self.both.set()
        try:
            await self.answering.wait()
            claimed = ClaimedJobs(self._perform(claim))
        finally:
            self.unanswered.remove(operation)
            self.both.clear()
        claimed.overlaps = True
        return claimed

    def pause_after_first_claim(self) -> None:
        """Let the claims after the first one wait."""
        self.watch = lambda operation, answer: self.answering.clear() if self.count("claim") == 1 else None

    def resume(self) -> None:
        self.watch = lambda operation, answer: None
        self.answering.set()


async def test_a_second_claim_is_sent_while_the_first_is_in_flight(store: Store, clock: ManualClock) -> None:
    overlapping = OverlappingStore(store)
    harness = WorkerHarness(overlapping, clock)
    runs: Counter[int] = Counter()

    @harness.jobs.job
    async def note(number: int) -> None:
        runs[number] += 1

    await harness.client.start_many([note.bind(number) for number in range(JOBS)])
    overlapping.pause_after_first_claim()
    async with harness.worker(concurrency=SLOTS):
        await in_time(overlapping.both.wait())
        first, second = overlapping.unanswered
        overlapping.resume()
        await harness.recorder.receive("completed", times=JOBS)

    assert first.token != second.token
    assert first.limit + second.limit == SLOTS
    assert runs == dict.fromkeys(range(JOBS), 1)


async def test_jobs_of_both_claims_are_released_if_the_worker_stops_meanwhile(store: Store, clock: ManualClock) -> None:
    overlapping = OverlappingStore(store)
    harness = WorkerHarness(overlapping, clock)
    ran: set[str] = set()

    @harness.jobs.job
    async def note(number: int) -> None:
        ran.add(str(number))

    chains = await harness.client.start_many([note.bind(number) for number in range(JOBS)])
    overlapping.pause_after_first_claim()
    async with harness.worker(concurrency=SLOTS) as worker:
        await in_time(overlapping.both.wait())
        asked = sum(claim.limit for claim in overlapping.unanswered)
        worker.stop()
        overlapping.resume()

    jobs = [await harness.job(chain) for chain in chains]
    assert asked == SLOTS
    assert sum(operation.limit for operation in overlapping.performed if isinstance(operation, ClaimJobs)) > asked
    assert Counter(job.status for job in jobs) == {"completed": len(ran), "pending": JOBS - len(ran)}
    assert {job.attempt for job in jobs if job.status == "pending"} == {0}


async def test_a_claim_whose_answer_was_lost_is_sent_again_beside_another_one(store: Store, clock: ManualClock) -> None:
    overlapping = OverlappingStore(store)
    harness = WorkerHarness(overlapping, clock)
    runs: Counter[int] = Counter()

    @harness.jobs.job
    async def note(number: int) -> None:
        runs[number] += 1

    await harness.client.start_many([note.bind(number) for number in range(JOBS)])
    overlapping.pause_after_first_claim()
    async with harness.worker(concurrency=SLOTS):
        await in_time(overlapping.both.wait())
        overlapping.fail("claim", when="after", times=1)
        overlapping.resume()
        await harness.recorder.receive("completed", times=JOBS)

    repeated = [op for op in overlapping.performed if isinstance(op, ClaimJobs) and op.again]
    assert len(repeated) == 1
    assert runs == dict.fromkeys(range(JOBS), 1)
