"""`dedup_for`: how long the key of a completed chain stays taken."""

from __future__ import annotations

from holdfast.core.lifecycle import NewJob
from holdfast.testing.builders import completed, continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness


async def a_key_is_free_after_dedup_for_although_the_chain_is_kept(harness: Harness) -> None:
    job = await harness.completed(new_job(key="k", keep=3600, dedup_for=60))
    harness.clock.advance(59.999999)
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id
    harness.clock.advance(0.000001)

    assert not await _found(harness, new_job(key="k", dedup="successful"))


async def a_key_with_dedup_for_zero_is_free_when_the_chain_is_completed(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k", keep=3600, dedup_for=0))
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id
    await harness.settled(completed(job))

    assert not await _found(harness, new_job(key="k", dedup="successful"))


async def a_key_is_taken_for_dedup_for_although_the_keep_time_is_over(harness: Harness) -> None:
    for key, keep in (("k", 60), ("none", 0)):
        job = await harness.completed(new_job(key=key, keep=keep, dedup_for=3600))
        harness.clock.advance(3599.999999)
        assert await _found(harness, new_job(key=key, dedup="successful")) == job.id
        harness.clock.advance(0.000001)

        assert not await _found(harness, new_job(key=key, dedup="successful", delay=10**6))


async def dedup_for_counts_from_the_end_of_the_chain_and_a_failed_chain_frees_its_key(harness: Harness) -> None:
    job = await harness.claimed(new_job(key="k", keep=60, dedup_for=3600))
    harness.clock.advance(10_000)
    await harness.settled(continued(job, next_job(job, "last")))
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id
    last = await harness.claim_one("last")
    harness.clock.advance(10_000)
    await harness.settled(completed(last))
    harness.clock.advance(3599)
    assert await _found(harness, new_job(key="k", dedup="successful")) == job.id

    lost = await harness.claimed(new_job(key="other", keep=3600, dedup_for=3600))
    await harness.settled(failed(lost))
    assert not await _found(harness, new_job(key="other", dedup="successful", delay=3600))


async def _found(harness: Harness, job: NewJob) -> str | None:
    """The id of the chain that a start of this job returns; None if it creates one."""
    ((chain, deduplicated),) = await harness.start(job)
    return chain.first.id if deduplicated else None
