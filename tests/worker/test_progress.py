"""Progress: visible while the job runs, and limited in size."""

from __future__ import annotations

import asyncio

import pytest

from holdfast import Attempt, SyncAttempt
from tests.worker.harness import WorkerHarness


async def test_progress_is_seen_while_the_job_runs(harness: WorkerHarness) -> None:
    seen = asyncio.Event()

    @harness.jobs.job
    async def long(attempt: Attempt) -> None:
        await attempt.progress(0.4, "resizing")
        await seen.wait()

    @harness.jobs.job
    def long_plain(attempt: SyncAttempt) -> None:
        attempt.progress(1)

    chain = await harness.start(long.bind())
    async with harness.worker():
        await harness.ended(await harness.start(long_plain.bind()))
        job = await harness.job(chain)
        seen.set()

    assert (job.progress, job.progress_note) == (0.4, "resizing")


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
async def test_progress_lies_between_0_and_1(harness: WorkerHarness, fraction: float) -> None:
    @harness.jobs.job
    async def boastful(attempt: Attempt) -> None:
        await attempt.progress(fraction)

    @harness.jobs.job
    def boastful_plain(attempt: SyncAttempt) -> None:
        attempt.progress(fraction)

    chains = [await harness.start(job_type.bind(), max_attempts=1) for job_type in (boastful, boastful_plain)]
    async with harness.worker():
        for chain in chains:
            await harness.ended(chain)
            assert "between 0 and 1" in str((await harness.job(chain)).error)


async def test_a_progress_note_is_shortened_and_cleaned(harness: WorkerHarness) -> None:
    @harness.jobs.job
    async def chatty(attempt: Attempt) -> None:
        await attempt.progress(0.5, "\0\ud800" + "x" * 100_000)

    chain = await harness.start(chatty.bind())
    async with harness.worker():
        await harness.ended(chain)

    note = (await harness.job(chain)).progress_note
    assert note is not None
    assert len(note) <= 1000
    note.encode()
    assert "\0" not in note
