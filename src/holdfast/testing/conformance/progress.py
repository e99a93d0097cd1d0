"""Progress: how far an attempt has come."""

from __future__ import annotations

from holdfast.engine.operations import ReportProgress
from holdfast.testing.builders import completed, retrying
from holdfast.testing.conformance.harness import Harness


async def progress_is_kept_with_its_note(harness: Harness) -> None:
    job = await harness.claimed()

    assert await harness.perform(ReportProgress(job.claim, 0.4, "resizing")) is None

    noted = await harness.job(job.id)
    assert (noted.progress, noted.progress_note) == (0.4, "resizing")
    assert (noted.status, noted.token, noted.leased_until) == (job.status, job.token, job.leased_until)


async def the_latest_progress_replaces_earlier_ones(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(ReportProgress(job.claim, 0.4, "resizing"))
    await harness.perform(ReportProgress(job.claim, 0.1, None))

    noted = await harness.job(job.id)
    assert (noted.progress, noted.progress_note) == (0.1, None)


async def a_new_attempt_has_no_progress(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(ReportProgress(job.claim, 0.4, "resizing"))
    await harness.settled(retrying(job))

    again = await harness.claim_one()

    assert (again.progress, again.progress_note) == (None, None)


async def the_progress_of_the_last_attempt_is_kept_after_its_end(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(ReportProgress(job.claim, 1.0, "done"))
    await harness.settled(completed(job))

    assert (await harness.job(job.id)).progress == 1.0
