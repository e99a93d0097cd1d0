"""Progress: how far an attempt has come."""

from __future__ import annotations

from holdfast.operations import ReportProgress
from holdfast.testing.builders import completed, retrying
from holdfast.testing.conformance.ground import Ground


async def progress_is_kept_with_its_note(ground: Ground) -> None:
    job = await ground.claimed()

    assert await ground.perform(ReportProgress(job.claim, 0.4, "resizing")) is None

    noted = await ground.job(job.id)
    assert (noted.progress, noted.progress_note) == (0.4, "resizing")
    assert (noted.status, noted.token, noted.leased_until) == (job.status, job.token, job.leased_until)


async def the_latest_progress_counts(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(ReportProgress(job.claim, 0.4, "resizing"))
    await ground.perform(ReportProgress(job.claim, 0.1, None))

    noted = await ground.job(job.id)
    assert (noted.progress, noted.progress_note) == (0.1, None)


async def a_new_attempt_has_come_no_way_yet(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(ReportProgress(job.claim, 0.4, "resizing"))
    await ground.settled(retrying(job))

    again = await ground.claim_one()

    assert (again.progress, again.progress_note) == (None, None)


async def the_progress_of_the_last_attempt_stays_to_be_read(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(ReportProgress(job.claim, 1.0, "done"))
    await ground.settled(completed(job))

    assert (await ground.job(job.id)).progress == 1.0
