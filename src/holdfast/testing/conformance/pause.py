"""Pausing: types of which nothing is handed out for a while."""

from __future__ import annotations

from holdfast.operations import Complete, Pause, Resume, Step
from holdfast.testing.builders import completed, new_job
from holdfast.testing.conformance.ground import Ground


async def a_paused_type_is_handed_out_again_when_resumed(ground: Ground) -> None:
    job = await ground.started()
    await ground.perform(Pause(("resize",)))
    assert await ground.claim() == []

    await ground.perform(Resume(("resize",)))

    assert (await ground.claim_one()).id == job.id


async def running_jobs_of_a_paused_type_go_on(ground: Ground) -> None:
    job = await ground.claimed()
    await ground.perform(Pause(("resize",)))

    await ground.settled(completed(job))


async def jobs_are_started_and_completed_from_outside_while_their_type_is_paused(ground: Ground) -> None:
    await ground.perform(Pause(("resize",)))

    job = await ground.started()

    await ground.perform(Complete(job.id, job.id, (Step(output=b"1"),)))


async def several_types_are_paused_and_resumed_at_once(ground: Ground) -> None:
    await ground.start(new_job("a"), new_job("b"), new_job("c"))
    await ground.perform(Pause(("a", "b")))
    assert [job.type for job in await ground.claim("a", "b", "c", limit=10)] == ["c"]

    await ground.perform(Resume(("b", "c")))

    assert [job.type for job in await ground.claim("a", "b", "c", limit=10)] == ["b"]


async def pausing_or_resuming_twice_is_as_good_as_once(ground: Ground) -> None:
    await ground.start(new_job())
    await ground.perform(Pause(("resize", "resize")))
    await ground.perform(Pause(("resize",)))
    assert await ground.claim() == []

    await ground.perform(Resume(("resize", "unknown")))
    await ground.perform(Resume(("resize",)))

    assert len(await ground.claim()) == 1


async def every_handle_sees_what_is_paused(ground: Ground) -> None:
    other = await ground.second_store()
    await ground.start(new_job())

    await ground.perform(Pause(("resize",)))

    assert await other.claim() == []
