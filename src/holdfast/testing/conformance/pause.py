"""Pause: jobs of paused types are not claimed."""

from __future__ import annotations

from holdfast.engine.operations import Complete, Completion, Pause, Resume
from holdfast.testing.builders import completed, new_job
from holdfast.testing.conformance.harness import Harness


async def jobs_of_a_paused_type_are_claimed_again_after_resume(harness: Harness) -> None:
    job = await harness.started()
    await harness.perform(Pause(("resize",)))
    assert await harness.claim() == []

    await harness.perform(Resume(("resize",)))

    assert (await harness.claim_one()).id == job.id


async def running_jobs_of_a_paused_type_continue(harness: Harness) -> None:
    job = await harness.claimed()
    await harness.perform(Pause(("resize",)))

    await harness.settled(completed(job))


async def jobs_are_started_and_completed_from_outside_while_their_type_is_paused(harness: Harness) -> None:
    await harness.perform(Pause(("resize",)))

    job = await harness.started()

    await harness.perform(Complete(job.id, job.id, (Completion(output=b"1"),)))


async def several_types_are_paused_and_resumed_by_one_operation(harness: Harness) -> None:
    await harness.start(new_job("a"), new_job("b"), new_job("c"))
    await harness.perform(Pause(("a", "b")))
    assert [job.type for job in await harness.claim("a", "b", "c", limit=10)] == ["c"]

    await harness.perform(Resume(("b", "c")))

    assert [job.type for job in await harness.claim("a", "b", "c", limit=10)] == ["b"]


async def pausing_or_resuming_twice_has_the_same_effect_as_once(harness: Harness) -> None:
    await harness.start(new_job())
    await harness.perform(Pause(("resize", "resize")))
    await harness.perform(Pause(("resize",)))
    assert await harness.claim() == []

    await harness.perform(Resume(("resize", "unknown")))
    await harness.perform(Resume(("resize",)))

    assert len(await harness.claim()) == 1


async def every_store_object_sees_paused_types(harness: Harness) -> None:
    other = await harness.second_store()
    await harness.start(new_job())

    await harness.perform(Pause(("resize",)))

    assert await other.claim() == []
