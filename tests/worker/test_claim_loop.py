"""The claim loop: what it claims, when, and how much."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from holdfast import Store
from holdfast.engine.operations import ClaimJobs, Pause, Resume
from holdfast.testing.clock import ManualClock
from tests.worker.faulty_store import FaultyStore
from tests.worker.harness import TIMEOUT, WorkerHarness, in_time


async def test_a_value_completes_the_job(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def double(number: int) -> int:
        return number * 2

    chain = await harness.start(double.bind(21))
    async with harness.worker():
        await harness.ended(chain)

    job = await harness.job(chain)
    assert (job.status, job.output, job.attempt) == ("completed", 42, 1)
    assert harness.recorder.kinds(chain.id) == ["created", "claimed", "started", "completed"]


async def test_a_job_started_while_the_worker_sleeps_is_run(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> str:
        return "hello"

    async with harness.worker(poll_interval=POLLING_IS_TOO_SLOW if harness.store.wakeups.healthy else 0.02):
        first = await harness.start(hello.bind())
        await harness.ended(first)
        second = await harness.start(hello.bind())
        await harness.ended(second)


POLLING_IS_TOO_SLOW = 6 * TIMEOUT


async def test_free_slots_are_filled_in_one_claim(store: Store, clock: ManualClock) -> None:
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)
    everyone = asyncio.Barrier(5)

    @harness.jobs.job
    async def meet() -> None:
        await in_time(everyone.wait())

    await harness.client.start_many([meet.bind() for _ in range(5)])
    async with harness.worker(concurrency=5):
        await harness.recorder.receive("completed", times=5)

    claims = [operation for operation in faulty.performed if isinstance(operation, ClaimJobs)]
    assert claims[0].limit == 5
    assert len({event.job_id for event in harness.recorder.find("completed")}) == 5


async def test_free_slots_are_filled_before_the_settlements_are_written(store: Store, clock: ManualClock) -> None:
    faulty = FaultyStore(store)
    harness = WorkerHarness(faulty, clock)

    @harness.jobs.job
    async def quick() -> None: ...

    await harness.client.start_many([quick.bind() for _ in range(10)])
    async with harness.worker(concurrency=5):
        await harness.recorder.receive("completed", times=10)

    verbs = [operation.verb for operation in faulty.performed if operation.verb in ("claim", "settle")]
    assert verbs[:3] == ["claim", "claim", "settle"]


async def test_at_most_concurrency_handlers_run_at_once(harness: WorkerHarness) -> None:
    running = 0
    most = 0
    three = asyncio.Barrier(3)

    @harness.jobs.job
    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await three.wait()
        running -= 1

    await harness.client.start_many([count.bind() for _ in range(48)])
    async with harness.worker(concurrency=3) as worker:
        await harness.recorder.receive("completed", times=48)
        assert worker.busy <= 3

    assert most == 3


async def test_a_slot_that_becomes_free_is_filled_while_the_others_run(harness: WorkerHarness) -> None:
    release = asyncio.Event()

    @harness.jobs.job
    async def slow() -> None:
        await release.wait()

    @harness.jobs.job
    async def quick() -> None: ...

    blocking = await harness.start(slow.bind(), priority=1)
    others = await harness.client.start_many([quick.bind() for _ in range(5)])
    async with harness.worker(concurrency=2):
        for chain in others:
            await harness.ended(chain)
        assert (await harness.job(blocking)).status == "running"
        release.set()
        await harness.ended(blocking)


async def test_jobs_run_by_priority_then_due_time_then_creation(harness: WorkerHarness) -> None:
    order: list[str] = []

    @harness.jobs.job
    async def note(name: str) -> None:
        order.append(name)

    @harness.jobs.job
    async def note_too(name: str) -> None:
        order.append(name)

    early = datetime(2020, 1, 1, tzinfo=UTC)
    await harness.start(note.bind("first created"))
    await harness.start(note_too.bind("second created"))
    await harness.start(note.bind("past times are now"), at=early)
    await harness.start(note_too.bind("urgent"), priority=5)
    await harness.start(note.bind("patient"), priority=-5)
    async with harness.worker(concurrency=1):
        await harness.recorder.receive("completed", times=5)

    assert order == ["urgent", "first created", "second created", "past times are now", "patient"]


async def test_a_scheduled_job_runs_when_its_time_comes_and_not_before(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def later() -> None: ...

    @harness.jobs.job
    async def now() -> None: ...

    chain = await harness.start(later.bind(), delay=timedelta(minutes=5))
    async with harness.worker():
        await harness.ended(await harness.start(now.bind()))
        harness.clock.advance(299)
        await harness.ended(await harness.start(now.bind()))
        assert (await harness.job(chain)).status == "pending"
        harness.clock.advance(1)
        await harness.ended(chain)

    job = await harness.job(chain)
    assert job.started_at == job.scheduled_at


async def test_job_types_without_a_handler_are_left_alone(harness: WorkerHarness) -> None:
    @harness.jobs.declare
    async def elsewhere() -> None: ...

    @harness.jobs.job
    async def here() -> None: ...

    other = await harness.start(elsewhere.bind())
    async with harness.worker():
        await harness.ended(await harness.start(here.bind()))

    assert (await harness.job(other)).status == "pending"


async def test_two_workers_share_the_jobs(harness: WorkerHarness) -> None:
    both = asyncio.Barrier(2)

    @harness.jobs.job
    async def meet() -> None:
        await in_time(both.wait())

    chains = await harness.client.start_many([meet.bind() for _ in range(2)])
    async with harness.worker(concurrency=1, worker_id="one"), harness.worker(concurrency=1, worker_id="two"):
        workers = {(await harness.ended(chain)).worker for chain in chains}

    assert workers == {"one", "two"}


async def test_paused_types_wait_until_they_are_resumed(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    @harness.jobs.job
    async def other() -> None: ...

    await harness.store.perform(Pause(("hello",)))
    chain = await harness.start(hello.bind())
    async with harness.worker():
        await harness.ended(await harness.start(other.bind()))
        assert (await harness.job(chain)).status == "pending"
        await harness.store.perform(Resume(("hello",)))
        await harness.ended(chain)
