"""Failures are grouped by fingerprint, and each group is counted."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.counters import MINUTE
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Record
from holdfast.engine.operations import (
    Delete,
    Filter,
    GetErrors,
    ListChains,
    ListJobs,
    Prune,
    RetryJobs,
)
from holdfast.testing.builders import (
    completed,
    new_job,
    retrying,
)
from holdfast.testing.conformance.builders import group_of, grouped_failure
from holdfast.testing.conformance.harness import Harness


async def failures_are_grouped_by_fingerprint(harness: Harness) -> None:
    first = await harness.claimed()
    await harness.settled(grouped_failure(first, "no luck with order 17"))
    harness.clock.advance(5)
    second = await harness.claimed()
    await harness.settled(grouped_failure(second, "no luck with order 99"))
    third = await harness.claimed()
    await harness.settled(_retrying(third, "out of stock"))

    luck, stock = await harness.perform(GetErrors())

    assert (luck.failed, luck.retried, stock.failed, stock.retried) == (2, 0, 0, 1)
    assert (luck.group.type, luck.group.example) == ("resize", second.id)
    assert luck.group.last_at - luck.group.first_at == 5_000_000
    assert await harness.perform(GetErrors(types=("publish",))) == []
    assert await harness.perform(GetErrors(limit=1)) == [luck]


async def a_lost_lease_is_a_failure_of_its_own_group(harness: Harness) -> None:
    job = await harness.claimed(new_job(max_attempts=2))
    for _ in range(2):
        await harness.expire()
        await harness.reap()
        await harness.claim()

    (group,) = await harness.perform(GetErrors())

    assert (group.group.fingerprint, group.failed, group.retried) == ("LeaseLost:resize", 1, 1)
    assert group.group.example == job.id


async def errors_of_some_minutes_are_counted_apart(harness: Harness) -> None:
    await harness.settled(grouped_failure(await harness.claimed()))
    harness.clock.advance(600)
    await harness.settled(grouped_failure(await harness.claimed()))

    (ever,) = await harness.perform(GetErrors())
    (recent,) = await harness.perform(GetErrors(last=5 * MINUTE))
    (both,) = await harness.perform(GetErrors(last=20 * MINUTE))

    assert (ever.failed, recent.failed, both.failed) == (2, 1, 2)
    minute = harness.clock() // MINUTE
    assert (ever.minutes, recent.minutes, both.minutes) == ((), ((minute, 1),), ((minute - 10, 1), (minute, 1)))
    harness.clock.advance(8 * 24 * 3600)
    await _add_up(harness)
    assert [each.group.fingerprint for each in await harness.perform(GetErrors())] == []


async def failed_jobs_are_found_by_fingerprint(harness: Harness) -> None:
    jobs = [await harness.claimed() for _ in range(3)]
    for job in jobs[:2]:
        await harness.settled(grouped_failure(job))
    await harness.settled(grouped_failure(jobs[2], "out of stock"))
    later = await harness.claimed(new_job(max_attempts=1))
    await harness.expire()
    await harness.reap()
    fingerprint = group_of(jobs[0], "no luck").fingerprint

    found = await harness.perform(ListJobs(Filter(fingerprint=fingerprint), limit=10))
    assert [job.id for job in found] == [jobs[1].id, jobs[0].id]
    chains = await harness.perform(ListChains(Filter(fingerprint=fingerprint), limit=1))
    assert [chain.first.id for chain in chains] == [jobs[1].id]
    lost = await harness.perform(ListJobs(Filter(fingerprint="LeaseLost:resize"), limit=10))
    assert [job.id for job in lost] == [later.id]

    await harness.perform(RetryJobs((jobs[0].id,)))
    found = await harness.perform(ListJobs(Filter(fingerprint=fingerprint), limit=10))
    assert [job.id for job in found] == [jobs[1].id]
    await harness.perform(Delete((jobs[1].id,)))
    assert await harness.perform(ListJobs(Filter(fingerprint=fingerprint), limit=10)) == []


async def more_than_a_thousand_groups_are_counted_together(harness: Harness) -> None:
    texts = [f"{chr(97 + n // 26 // 26)}{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n in range(1010)]
    for part in range(0, len(texts), 101):
        some = texts[part : part + 101]
        await harness.start(*[new_job() for _ in some])
        jobs = await harness.claim(limit=len(some))
        await harness.settle(*[grouped_failure(job, text) for job, text in zip(jobs, some, strict=True)])
        await harness.perform(Prune(100))

    groups = await harness.perform(GetErrors(limit=2000))

    assert len(groups) == 1001
    assert (groups[0].group.fingerprint, groups[0].failed) == ("", 10)
    assert sum(each.failed for each in groups) == len(texts)


def _retrying(job: Record, error: str) -> Settlement:
    return replace(retrying(job, error=error, delay=3600), failure=group_of(job, error))


async def _add_up(harness: Harness) -> None:
    """Make enough changes for the next prune to add them up."""
    types = [f"type-{number}" for number in range(250)]
    await harness.start(*[new_job(type) for type in types])
    jobs = await harness.claim(*types, limit=250)
    await harness.settle(*[completed(job) for job in jobs])
    await harness.perform(Prune(100))
