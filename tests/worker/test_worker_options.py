"""The parameters of a worker, and the options of a job type that override them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from holdfast import Retry, UnknownJobType
from tests.worker.harness import TIMEOUT, WorkerHarness


@pytest.mark.parametrize("by", ["name", "job type", "list"])
async def test_the_types_parameter_limits_a_worker_to_these_types(harness: WorkerHarness, by: str) -> None:
    @harness.jobs.job
    async def mine() -> None: ...

    @harness.jobs.job
    async def not_mine() -> None: ...

    other = await harness.start(not_mine.bind())
    async with harness.worker(types={"name": "mine", "job type": mine, "list": [mine]}[by]):
        await harness.ended(await harness.start(mine.bind()))

    assert (await harness.job(other)).status == "pending"


async def test_a_worker_without_types_is_refused(harness: WorkerHarness) -> None:
    @harness.jobs.declare
    async def only_declared() -> None: ...

    with pytest.raises(ValueError, match="nothing to run"):
        harness.worker()
    with pytest.raises(ValueError, match="nothing to run"):
        harness.worker(types=[])
    with pytest.raises(ValueError, match="only declared"):
        harness.worker(types="only_declared")
    with pytest.raises(UnknownJobType, match="never"):
        harness.worker(types="never")
    with pytest.raises(ValueError, match="concurrency"):
        harness.worker(concurrency=0)
    with pytest.raises(TypeError, match="concurrency must be an int"):
        harness.worker(concurrency="5")
    for option in ("lease", "timeout", "poll_interval", "poll_without_wakeups"):
        with pytest.raises(ValueError, match=f"{option} must be more than 0 seconds"):
            harness.worker(**{option: 0})
    for option in ("grace", "job_delay"):
        with pytest.raises(ValueError, match=f"{option} must be at least 0 seconds"):
            harness.worker(**{option: float("nan")})


async def test_a_worker_runs_once(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    worker = harness.worker()
    async with worker:
        pass

    with pytest.raises(RuntimeError, match="once"):
        await worker.run()


async def test_worker_ids_differ_by_default(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    assert harness.worker().id != harness.worker().id


async def test_job_delay_separates_two_jobs_of_a_slot(harness: WorkerHarness) -> None:
    at: list[float] = []

    @harness.jobs.job
    async def note() -> None:
        at.append(asyncio.get_running_loop().time())

    await harness.client.start_many([note.bind() for _ in range(3)])
    async with harness.worker(concurrency=1, job_delay=0.05):
        await harness.recorder.receive("completed", times=3)

    # Timers of the event loop may fire early by the resolution of its clock.
    assert min(at[1] - at[0], at[2] - at[1]) >= 0.049


async def test_job_delay_does_not_delay_the_shutdown(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def hello() -> None: ...

    chain = await harness.start(hello.bind())
    async with asyncio.timeout(TIMEOUT / 2), harness.worker(job_delay=100):
        await harness.ended(chain)


async def test_the_options_of_a_type_override_the_workers(harness: WorkerHarness) -> None:
    @harness.jobs.job(lease=1000, retry=Retry(max_attempts=7))
    async def particular() -> None: ...

    @harness.jobs.job
    async def easygoing() -> None: ...

    gate = asyncio.Event()

    async def hold(attempt: object, call_next: object) -> None:
        await gate.wait()

    chains = [await harness.start(particular.bind()), await harness.start(easygoing.bind())]
    chains.append(await harness.start(particular.bind(), max_attempts=2))
    async with harness.worker(lease=50, retry=Retry(max_attempts=3), middlewares=[hold]):
        await harness.recorder.receive("claimed", times=3)
        jobs = [await harness.job(chain) for chain in chains]
        gate.set()

    now = datetime.fromtimestamp(harness.clock() / 1e6, UTC)
    leases = [(job.leased_until - now).total_seconds() for job in jobs if job.leased_until is not None]
    assert leases == [1000, 50, 1000]
    assert [job.max_attempts for job in jobs] == [7, 3, 2]
