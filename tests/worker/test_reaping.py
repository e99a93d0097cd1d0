"""Reaping: whose jobs are taken back, by whom, and when a crash was the last."""

from __future__ import annotations

from holdfast import Worker
from holdfast.engine.operations import ClaimJobs, Pause, Resume
from tests.worker.stage import LEASE, Stage


async def test_a_lost_job_is_taken_back_also_by_a_worker_that_always_has_work(stage: Stage) -> None:
    """Else, with every worker saturated, the jobs of a crashed one would wait for ever."""

    @stage.jobs.job
    async def endless() -> None:
        await stage.start(endless.bind(), priority=1)

    lost = await stage.start(endless.bind())
    await _crash(stage, "endless")
    stage.clock.advance(LEASE + 1)
    await stage.start(endless.bind(), priority=1)
    async with stage.worker(concurrency=1):
        await stage.recorder.receive("reaped", job_id=lost.id)


async def _crash(stage: Stage, *types: str) -> None:
    """Claim what is due, as a worker that then dies."""
    deletable = Worker(stage.client, types=types, lease=LEASE, worker_id="doomed")
    terms = tuple(deletable._terms[name].claiming() for name in types)  # pyright: ignore[reportPrivateUsage]
    await stage.store.perform(ClaimJobs(terms, 100, "doomed", "a token"))


async def test_a_crash_counts_as_an_attempt_and_poison_ends(stage: Stage) -> None:
    @stage.jobs.job
    async def poison() -> None:
        raise AssertionError("only ever claimed by workers that die")

    @stage.jobs.job
    async def bystander() -> None: ...

    chain = await stage.start(poison.bind(), max_attempts=2)
    for _ in range(2):
        await _crash(stage, "poison")
        stage.clock.advance(LEASE + 1)
        async with stage.worker(types=bystander):
            pass
        await _reap(stage, "poison")

    job = await stage.job(chain)
    assert (job.status, job.attempt) == ("failed", 2)
    assert "lease lost" in str(job.error)
    assert [attempt.outcome for attempt in (await stage.report(chain)).attempts] == ["lost", "lost"]


async def _reap(stage: Stage, name: str) -> None:
    """A worker that is free to reap, and never gets to claim."""
    await stage.store.perform(Pause((name,)))
    reaped = len(stage.recorder.find("reaped"))
    async with stage.worker(types=name):
        await stage.recorder.receive("reaped", times=reaped + 1)
    await stage.store.perform(Resume((name,)))


async def test_observers_hear_that_a_crash_was_the_last(stage: Stage) -> None:
    @stage.jobs.job
    async def poison() -> None: ...

    chain = await stage.start(poison.bind(), max_attempts=1)
    await _crash(stage, "poison")
    stage.clock.advance(LEASE + 1)
    async with stage.worker():
        failed = await stage.recorder.receive("failed", job_id=chain.id)

    assert failed.error is not None
    assert "lease lost" in failed.error


async def test_a_worker_reaps_only_the_types_it_runs(stage: Stage) -> None:
    @stage.jobs.job
    async def mine() -> None: ...

    @stage.jobs.job
    async def not_mine() -> None: ...

    my_chain = await stage.start(mine.bind())
    other = await stage.start(not_mine.bind())
    await _crash(stage, "mine", "not_mine")
    stage.clock.advance(LEASE + 1)
    async with stage.worker(types=mine):
        await stage.ended(my_chain)

    assert (await stage.job(other)).status == "running"
