"""Reaping: which worker reaps which jobs, and how a job ends after its last crash."""

from __future__ import annotations

from holdfast import Worker
from holdfast.engine.operations import ClaimJobs, Pause, Resume
from tests.worker.harness import LEASE, WorkerHarness


async def test_a_worker_that_always_has_jobs_reaps_too(harness: WorkerHarness) -> None:
    """Otherwise the jobs of a crashed worker would wait as long as all other workers are busy."""

    @harness.jobs.job
    async def endless() -> None:
        await harness.start(endless.bind(), priority=1)

    lost = await harness.start(endless.bind())
    await _crash(harness, "endless")
    harness.clock.advance(LEASE + 1)
    await harness.start(endless.bind(), priority=1)
    async with harness.worker(concurrency=1):
        await harness.recorder.receive("reaped", job_id=lost.id)


async def _crash(harness: WorkerHarness, *types: str) -> None:
    """Claim the due jobs, as a worker that then crashes."""
    crashed = Worker(harness.client, types=types, lease=LEASE, worker_id="crashed")
    terms = tuple(crashed._options[name].for_claim() for name in types)  # pyright: ignore[reportPrivateUsage]
    await harness.store.perform(ClaimJobs(terms, 100, "crashed", "a token"))


async def test_a_crash_counts_as_an_attempt_and_the_job_fails_after_the_last(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def poison() -> None:
        raise AssertionError("only ever claimed by workers that die")

    @harness.jobs.job
    async def bystander() -> None: ...

    chain = await harness.start(poison.bind(), max_attempts=2)
    for _ in range(2):
        await _crash(harness, "poison")
        harness.clock.advance(LEASE + 1)
        async with harness.worker(types=bystander):
            pass
        await _reap(harness, "poison")

    job = await harness.job(chain)
    assert (job.status, job.attempt) == ("failed", 2)
    assert "lease lost" in str(job.error)
    assert [attempt.outcome for attempt in (await harness.report(chain)).attempts] == ["lost", "lost"]


async def _reap(harness: WorkerHarness, name: str) -> None:
    """A worker that reaps and never claims."""
    await harness.store.perform(Pause((name,)))
    reaped = len(harness.recorder.find("reaped"))
    async with harness.worker(types=name):
        await harness.recorder.receive("reaped", times=reaped + 1)
    await harness.store.perform(Resume((name,)))


async def test_a_crash_of_the_last_attempt_emits_failed(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def poison() -> None: ...

    chain = await harness.start(poison.bind(), max_attempts=1)
    await _crash(harness, "poison")
    harness.clock.advance(LEASE + 1)
    async with harness.worker():
        failed = await harness.recorder.receive("failed", job_id=chain.id)

    assert failed.error is not None
    assert "lease lost" in failed.error


async def test_a_worker_reaps_only_the_types_it_runs(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def mine() -> None: ...

    @harness.jobs.job
    async def not_mine() -> None: ...

    my_chain = await harness.start(mine.bind())
    other = await harness.start(not_mine.bind())
    await _crash(harness, "mine", "not_mine")
    harness.clock.advance(LEASE + 1)
    async with harness.worker(types=mine):
        await harness.ended(my_chain)

    assert (await harness.job(other)).status == "running"
