"""Two claims at the same time, on a store that says that they overlap."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from holdfast import Retry, Store
from holdfast.engine.operations import ClaimedJobs, ClaimJobs, Operation
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness, in_time

SLOTS = 400
JOBS = 1_000


class OverlappingStore(FaultyStore):
    """Performs claims at the same time. After `pause_after_first_claim` they wait, until they are answered."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._answers = True
        self.unanswered: dict[str, asyncio.Event] = {}
        """By token, in the order of the claims: set it to answer the claim."""
        self.asked: list[int] = []
        """The limits of the claims that had to wait."""
        self.both = asyncio.Event()
        """Set when two claims wait for their answers."""

    async def perform(self, operation: Operation[Any], /) -> Any:
        if not isinstance(operation, ClaimJobs):
            return await super().perform(operation)
        claim: Operation[Any] = operation
        if not self._answers:
            self.asked.append(operation.limit)
            self.unanswered[operation.token] = answer = asyncio.Event()
            if len(self.unanswered) == 2:
                self.both.set()
            await answer.wait()
            del self.unanswered[operation.token]
        claimed = ClaimedJobs(self._perform(claim))
        claimed.overlaps = True
        return claimed

    def pause_after_first_claim(self) -> None:
        """Let the claims after the first one wait."""

        def pause(operation: Operation[Any], _: object) -> None:
            if operation.verb == "claim":
                self._answers = False
                self.watch = ignore

        def ignore(operation: Operation[Any], _: object) -> None: ...

        self.watch = pause

    def resume(self) -> None:
        """Answer all claims from now on."""
        self._answers = True
        for answer in self.unanswered.values():
            answer.set()


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
        asked = sum(overlapping.asked)
        overlapping.resume()
        await harness.recorder.receive("completed", times=JOBS)

    assert first != second
    assert asked == SLOTS
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
        worker.stop()
        overlapping.resume()

    jobs = [await harness.job(chain) for chain in chains]
    assert overlapping.asked == [SLOTS // 2, SLOTS // 2]
    assert overlapping.count("claim") == 3
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


@pytest.mark.parametrize("stalled", [0, 1])
@pytest.mark.parametrize("stops", [False, True])
async def test_the_jobs_of_one_claim_do_not_wait_for_the_other(
    store: Store, clock: ManualClock, stalled: int, stops: bool
) -> None:
    """Their leases have begun, and are renewed only when the worker has the jobs."""
    overlapping = OverlappingStore(store)
    harness = WorkerHarness(overlapping, clock)

    @harness.jobs.job
    async def note() -> None: ...

    await harness.client.start_many([note.bind() for _ in range(JOBS)])
    overlapping.pause_after_first_claim()
    async with harness.worker(concurrency=SLOTS) as worker:
        await in_time(overlapping.both.wait())
        if stops:
            worker.stop()
        list(overlapping.unanswered.values())[1 - stalled].set()

        expected = ("released", SLOTS // 2) if stops else ("completed", SLOTS)
        await harness.recorder.receive(expected[0], times=expected[1])
        assert overlapping.unanswered
        overlapping.resume()


async def test_the_jobs_of_one_claim_begin_although_the_other_fails(store: Store, clock: ManualClock) -> None:
    overlapping = OverlappingStore(store)
    harness = WorkerHarness(overlapping, clock)

    @harness.jobs.job
    async def note() -> None: ...

    await harness.client.start_many([note.bind() for _ in range(JOBS)])
    overlapping.pause_after_first_claim()
    never = Retry(initial=10 * TIMEOUT, jitter=0, max_attempts=None)
    async with harness.worker(concurrency=SLOTS, recovery=never):
        await in_time(overlapping.both.wait())
        overlapping.fail("claim", times=1)
        first, second = overlapping.unanswered.values()
        first.set()
        await harness.recorder.receive("store_error")
        second.set()

        await harness.recorder.receive("completed", times=SLOTS)
        overlapping.resume()


async def test_a_lost_claim_is_repeated_although_the_other_one_found_no_more_jobs(
    store: Store, clock: ManualClock
) -> None:
    overlapping = OverlappingStore(store)
    harness = WorkerHarness(overlapping, clock)

    @harness.jobs.job
    async def note() -> None: ...

    await harness.client.start_many([note.bind() for _ in range(SLOTS // 2)])
    overlapping.pause_after_first_claim()
    async with harness.worker(concurrency=SLOTS):
        await in_time(overlapping.both.wait())
        lost, empty = overlapping.unanswered.values()
        empty.set()
        for _ in range(20):  # the worker receives the empty answer
            await asyncio.sleep(0)
        await harness.client.start(note.bind())
        overlapping.fail("claim", when="after", times=1)
        overlapping.resume()

        await harness.recorder.receive("completed", times=SLOTS // 2 + 1)

    assert lost.is_set()
    verbs = [op.verb for op in overlapping.performed]
    [again] = [position for position, op in enumerate(overlapping.performed) if isinstance(op, ClaimJobs) and op.again]
    before = max(position for position in range(again) if verbs[position] == "claim")
    assert "next_due" not in verbs[before:again]  # the worker did not sleep
