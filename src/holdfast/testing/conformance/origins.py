"""Origins: a chain that a job starts names this job, and is found by it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from holdfast.core.details import FailureHook, JobDetails, started_details, write_details
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record
from holdfast.engine.operations import Delete, GetStarted, Prune, RetryJobs
from holdfast.testing.builders import completed, failed, new_job, retrying
from holdfast.testing.conformance.builders import hooks_of
from holdfast.testing.conformance.harness import Harness

REFUND = FailureHook("refund", "failure")


async def the_chains_that_jobs_started_are_found_oldest_first(harness: Harness) -> None:
    one, two, none = [await harness.claimed(new_job()) for _ in range(3)]
    first, second, third = _started_by(one), _started_by(two), _started_by(one)
    await harness.settled(completed(one, starts=(first, third)))
    await harness.settled(completed(two, starts=(second,)))
    await harness.settled(completed(none))

    assert await _started(harness, one) == [first.id, third.id]
    assert await _started(harness, two) == [second.id]
    assert await _started(harness, none) == []
    assert await _started(harness, two, one, none, two) == [first.id, third.id, second.id]
    assert await _started(harness, two, one, limit=2) == [first.id, third.id]
    assert (await harness.job(first.id)).origin == one.id
    assert one.origin is None


async def a_hook_is_found_by_the_job_that_failed(harness: Harness) -> None:
    lost = await harness.claimed(new_job(max_attempts=1, on_failure=REFUND), max_attempts=1)
    blocker = await harness.claimed(new_job("other"))
    waiting = await harness.started(new_job(after=(blocker.id,), on_blocker_failure="fail", on_failure=REFUND))
    settled = await harness.claimed(new_job("third", on_failure=REFUND))

    await harness.settled(failed(settled))
    await harness.settled(failed(blocker))
    await harness.expire()
    await harness.reap()

    hooks = {hook.origin: hook.id for hook in await hooks_of(harness)}
    assert hooks.keys() == {lost.id, waiting.id, settled.id}
    for job in (lost, waiting, settled):
        assert await _started(harness, job) == [hooks[job.id]]


async def each_failure_adds_a_hook(harness: Harness) -> None:
    job = await harness.claimed(new_job(on_failure=REFUND))
    await harness.settled(failed(job))
    await harness.perform(RetryJobs((job.id,)))
    await harness.settled(failed(await harness.claim_one()))

    assert len(await _started(harness, job)) == 2


async def a_deleted_chain_is_not_found(harness: Harness) -> None:
    job = await harness.claimed(new_job())
    deleted, pruned, kept = _started_by(job), _started_by(job, "short", keep=5), _started_by(job)
    await harness.settled(completed(job, starts=(deleted, pruned, kept)))
    await harness.perform(Delete((deleted.id,)))
    await harness.settled(completed(await harness.claim_one("short")))
    harness.clock.advance(6)
    await harness.perform(Prune(10))

    assert await _started(harness, job) == [kept.id]


async def chains_of_a_deleted_job_stay_found(harness: Harness) -> None:
    job = await harness.claimed(new_job())
    started = _started_by(job)
    await harness.settled(completed(job, starts=(started,)))
    await harness.perform(Delete((job.id,)))

    assert await _started(harness, job) == [started.id]


async def a_replaced_chain_belongs_to_the_job_that_started_it_last(harness: Harness) -> None:
    one, two, three = [await harness.claimed(new_job()) for _ in range(3)]
    chain = _started_by(one, "report", key="k", dedup="waiting")
    await harness.settled(completed(one, starts=(chain,)))
    again = _started_by(two, "report", key="k", dedup="waiting")
    await harness.settled(replace(completed(two), starts=(again,), expected=(chain.id,)))

    assert await _started(harness, one) == []
    assert await _started(harness, two) == [chain.id]
    await harness.settled(retrying(await harness.claim_one("report")))
    last = _started_by(three, "report", key="k", dedup="waiting")
    await harness.settled(replace(completed(three), starts=(last,), expected=(chain.id,)))
    assert await _started(harness, two) == []
    assert await _started(harness, three) == [chain.id]
    await harness.start(new_job("report", key="k", dedup="waiting"))
    assert await _started(harness, three) == []


async def any_id_can_be_an_origin(harness: Harness) -> None:
    ids = ['a"b', 'a"c', "a", "a\\", "a/b", "\u00e9\u4e2d\U0001f600", "%_", "a b", "'"]
    started: dict[str, str] = {}
    for id in ids:
        job = await harness.claimed(new_job(id=id, on_failure=REFUND))
        chain = _started_by(job)
        await harness.settled(completed(job, starts=(chain,)))
        started[id] = chain.id

    for id, chain_id in started.items():
        assert await harness.perform(GetStarted((id,), 10)) == [chain_id]
        assert (await harness.job(chain_id)).origin == id


async def what_a_caller_sends_along_is_no_origin(harness: Harness) -> None:
    sent = write_details(JobDetails(carrier={"origin": "somewhere"}))
    await harness.start(replace(new_job(), details=sent))

    assert await harness.perform(GetStarted(("somewhere",), 10)) == []


def _started_by(job: Record, type: str = "side", **options: Any) -> NewJob:
    return replace(new_job(type, **options), details=write_details(started_details(job.id, job.details)))


async def _started(harness: Harness, *jobs: Record, limit: int = 10) -> list[str]:
    return await harness.perform(GetStarted(tuple(job.id for job in jobs), limit))
