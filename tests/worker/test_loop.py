"""The main loop: what it claims, when, and how much."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Retry, Store, UnknownJobType
from holdfast.engine.operations import ClaimJobs, Pause, Resume
from holdfast.testing.clock import ManualClock
from tests.worker.faulty import FaultyStore
from tests.worker.stage import PATIENCE, Stage, soon


async def test_a_value_completes_the_job(stage: Stage) -> None:
    @stage.jobs.job
    async def double(number: int) -> int:
        return number * 2

    chain = await stage.start(double.bind(21))
    async with stage.worker():
        await stage.ended(chain)

    job = await stage.job(chain)
    assert (job.status, job.output, job.attempt) == ("completed", 42, 1)
    assert stage.recorder.kinds(chain.id) == ["created", "claimed", "started", "completed"]


async def test_a_job_started_while_the_worker_sleeps_is_run(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> str:
        return "hello"

    async with stage.worker(poll_interval=POLLING_IS_TOO_SLOW if stage.store.wakeups.healthy else 0.02):
        first = await stage.start(hello.bind())
        await stage.ended(first)
        second = await stage.start(hello.bind())
        await stage.ended(second)


POLLING_IS_TOO_SLOW = 6 * PATIENCE


async def test_free_slots_are_filled_in_one_claim(store: Store, clock: ManualClock) -> None:
    faulty = FaultyStore(store)
    stage = Stage(faulty, clock)
    everyone = asyncio.Barrier(5)

    @stage.jobs.job
    async def meet() -> None:
        await soon(everyone.wait())

    await stage.client.start_many([meet.bind() for _ in range(5)])
    async with stage.worker(concurrency=5):
        await stage.recorder.receive("completed", times=5)

    claims = [operation for operation in faulty.performed if isinstance(operation, ClaimJobs)]
    assert claims[0].limit == 5
    assert len({event.job_id for event in stage.recorder.find("completed")}) == 5


async def test_slots_that_are_free_again_are_filled_before_what_ended_is_written(
    store: Store, clock: ManualClock
) -> None:
    faulty = FaultyStore(store)
    stage = Stage(faulty, clock)

    @stage.jobs.job
    async def quick() -> None: ...

    await stage.client.start_many([quick.bind() for _ in range(10)])
    async with stage.worker(concurrency=5):
        await stage.recorder.receive("completed", times=10)

    verbs = [operation.verb for operation in faulty.performed if operation.verb in ("claim", "settle")]
    assert verbs[:3] == ["claim", "claim", "settle"]


async def test_never_more_run_at_once_than_the_concurrency(stage: Stage) -> None:
    running = 0
    most = 0
    three = asyncio.Barrier(3)

    @stage.jobs.job
    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await three.wait()
        running -= 1

    await stage.client.start_many([count.bind() for _ in range(48)])
    async with stage.worker(concurrency=3) as worker:
        await stage.recorder.receive("completed", times=48)
        assert worker.busy <= 3

    assert most == 3


async def test_a_slot_that_becomes_free_is_filled_while_the_others_work(stage: Stage) -> None:
    release = asyncio.Event()

    @stage.jobs.job
    async def slow() -> None:
        await release.wait()

    @stage.jobs.job
    async def quick() -> None: ...

    blocking = await stage.start(slow.bind(), priority=1)
    others = await stage.client.start_many([quick.bind() for _ in range(5)])
    async with stage.worker(concurrency=2):
        for chain in others:
            await stage.ended(chain)
        assert (await stage.job(blocking)).status == "running"
        release.set()
        await stage.ended(blocking)


async def test_jobs_run_by_priority_then_due_time_then_creation(stage: Stage) -> None:
    order: list[str] = []

    @stage.jobs.job
    async def note(name: str) -> None:
        order.append(name)

    @stage.jobs.job
    async def note_too(name: str) -> None:
        order.append(name)

    early = datetime(2020, 1, 1, tzinfo=UTC)
    await stage.start(note.bind("first created"))
    await stage.start(note_too.bind("second created"))
    await stage.start(note.bind("past times are now"), at=early)
    await stage.start(note_too.bind("urgent"), priority=5)
    await stage.start(note.bind("patient"), priority=-5)
    async with stage.worker(concurrency=1):
        await stage.recorder.receive("completed", times=5)

    assert order == ["urgent", "first created", "second created", "past times are now", "patient"]


async def test_a_scheduled_job_runs_when_its_time_comes_and_not_before(stage: Stage) -> None:
    @stage.jobs.job
    async def later() -> None: ...

    @stage.jobs.job
    async def now() -> None: ...

    chain = await stage.start(later.bind(), delay=timedelta(minutes=5))
    async with stage.worker():
        await stage.ended(await stage.start(now.bind()))
        stage.clock.advance(299)
        await stage.ended(await stage.start(now.bind()))
        assert (await stage.job(chain)).status == "pending"
        stage.clock.advance(1)
        await stage.ended(chain)

    job = await stage.job(chain)
    assert job.started_at == job.scheduled_at


async def test_job_types_without_a_handler_are_left_alone(stage: Stage) -> None:
    @stage.jobs.declare
    async def elsewhere() -> None: ...

    @stage.jobs.job
    async def here() -> None: ...

    other = await stage.start(elsewhere.bind())
    async with stage.worker():
        await stage.ended(await stage.start(here.bind()))

    assert (await stage.job(other)).status == "pending"


@pytest.mark.parametrize("by", ["name", "job type", "list"])
async def test_types_limits_a_worker_to_some(stage: Stage, by: str) -> None:
    @stage.jobs.job
    async def mine() -> None: ...

    @stage.jobs.job
    async def not_mine() -> None: ...

    other = await stage.start(not_mine.bind())
    async with stage.worker(types={"name": "mine", "job type": mine, "list": [mine]}[by]):
        await stage.ended(await stage.start(mine.bind()))

    assert (await stage.job(other)).status == "pending"


async def test_a_worker_of_nothing_is_refused(stage: Stage) -> None:
    @stage.jobs.declare
    async def only_declared() -> None: ...

    with pytest.raises(ValueError, match="nothing to run"):
        stage.worker()
    with pytest.raises(ValueError, match="nothing to run"):
        stage.worker(types=[])
    with pytest.raises(ValueError, match="only declared"):
        stage.worker(types="only_declared")
    with pytest.raises(UnknownJobType, match="never"):
        stage.worker(types="never")
    with pytest.raises(ValueError, match="concurrency"):
        stage.worker(concurrency=0)
    for option in ("lease", "timeout", "poll_interval", "poll_without_wakeups"):
        with pytest.raises(ValueError, match=f"{option} must be more than 0 seconds"):
            stage.worker(**{option: 0})
    for option in ("grace", "job_delay"):
        with pytest.raises(ValueError, match=f"{option} must be at least 0 seconds"):
            stage.worker(**{option: float("nan")})


async def test_a_worker_runs_once(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> None: ...

    worker = stage.worker()
    async with worker:
        pass

    with pytest.raises(RuntimeError, match="once"):
        await worker.run()


async def test_two_workers_share_the_work(stage: Stage) -> None:
    both = asyncio.Barrier(2)

    @stage.jobs.job
    async def meet() -> None:
        await soon(both.wait())

    chains = await stage.client.start_many([meet.bind() for _ in range(2)])
    async with stage.worker(concurrency=1, worker_id="one"), stage.worker(concurrency=1, worker_id="two"):
        workers = {(await stage.ended(chain)).worker for chain in chains}

    assert workers == {"one", "two"}


async def test_worker_ids_differ_by_default(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> None: ...

    assert stage.worker().id != stage.worker().id


async def test_the_pause_between_two_jobs_of_a_slot(stage: Stage) -> None:
    at: list[float] = []

    @stage.jobs.job
    async def note() -> None:
        at.append(asyncio.get_running_loop().time())

    await stage.client.start_many([note.bind() for _ in range(3)])
    async with stage.worker(concurrency=1, job_delay=0.05):
        await stage.recorder.receive("completed", times=3)

    # The loop's timers may be early by its clock's resolution.
    assert min(at[1] - at[0], at[2] - at[1]) >= 0.049


async def test_the_pause_between_jobs_does_not_hold_up_the_end(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> None: ...

    chain = await stage.start(hello.bind())
    async with asyncio.timeout(PATIENCE / 2), stage.worker(job_delay=100):
        await stage.ended(chain)


async def test_paused_types_wait_until_they_are_resumed(stage: Stage) -> None:
    @stage.jobs.job
    async def hello() -> None: ...

    @stage.jobs.job
    async def other() -> None: ...

    await stage.store.perform(Pause(("hello",)))
    chain = await stage.start(hello.bind())
    async with stage.worker():
        await stage.ended(await stage.start(other.bind()))
        assert (await stage.job(chain)).status == "pending"
        await stage.store.perform(Resume(("hello",)))
        await stage.ended(chain)


async def test_the_terms_of_a_type_come_before_the_workers(stage: Stage) -> None:
    @stage.jobs.job(lease=1000, retry=Retry(max_attempts=7))
    async def particular() -> None: ...

    @stage.jobs.job
    async def easygoing() -> None: ...

    gate = asyncio.Event()

    async def hold(attempt: object, call_next: object) -> None:
        await gate.wait()

    chains = [await stage.start(particular.bind()), await stage.start(easygoing.bind())]
    chains.append(await stage.start(particular.bind(), max_attempts=2))
    async with stage.worker(lease=50, retry=Retry(max_attempts=3), middlewares=[hold]):
        await stage.recorder.receive("claimed", times=3)
        jobs = [await stage.job(chain) for chain in chains]
        gate.set()

    now = datetime.fromtimestamp(stage.clock() / 1e6, UTC)
    leases = [(job.leased_until - now).total_seconds() for job in jobs if job.leased_until is not None]
    assert leases == [1000, 50, 1000]
    assert [job.max_attempts for job in jobs] == [7, 3, 2]
