"""Collapsing starts: the blockers and lanes of the new start apply."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Status
from holdfast.engine.operations import (
    Complete,
    Completion,
    Start,
)
from holdfast.errors import ChainNotFound, DependencyCycle
from holdfast.testing.builders import completed, continued, failed, new_job, next_job, retrying
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import limit, order, rate, with_lanes


async def the_new_blockers_apply(harness: Harness) -> None:
    blocker, other = await harness.claimed(new_job("a")), await harness.started(new_job("b"))
    job = await harness.started(new_job(key="k", after=(blocker.id, blocker.id, other.id)))
    assert job.status is Status.BLOCKED

    free = await harness.started(_replacing(input=b"free"))
    assert (free.status, free.blockers, free.open_blockers) == (Status.PENDING, 0, 0)
    assert (await harness.settled(completed(blocker))).unblocked == ()
    assert await harness.job(job.id) == free

    blocked = await harness.started(_replacing(input=b"blocked", after=(other.id, blocker.id)))
    assert (blocked.id, blocked.status, blocked.blockers, blocked.open_blockers) == (job.id, Status.BLOCKED, 2, 1)
    assert await harness.claim() == []
    await harness.perform(Complete(other.id, other.id, (Completion(output=b"1"),)))
    assert (await harness.claim_one()).input == b"blocked"


async def a_blocker_that_has_ended_may_end_the_replaced_chain_and_its_dependents(harness: Harness) -> None:
    lost, done = await harness.claimed(new_job("a")), await harness.completed(new_job("b"))
    await harness.settled(failed(lost))
    for key, after, rule, expected in (
        ("fails", lost, "fail", Status.FAILED),
        ("is cancelled", done, "when_failed", Status.CANCELLED),
    ):
        job = await harness.started(new_job(key=key))
        waiting = await harness.started(new_job("c", after=(job.id,), on_blocker_failure="fail"))

        ended = await harness.started(_replacing(key=key, after=(after.id,), on_blocker_failure=rule))

        assert (ended.id, ended.status) == (job.id, expected)
        assert (await harness.job(waiting.id)).status is Status.FAILED
        assert not await _found(harness, new_job(key=key))


async def a_refused_replacement_changes_nothing(harness: Harness) -> None:
    job = await harness.started(new_job(key="k"))
    middle = await harness.started(new_job(after=(job.id,)))
    last = await harness.started(new_job(after=(middle.id,)))
    running = await harness.claimed(new_job("other"))
    before = await harness.everything()

    await harness.refused(ChainNotFound, Start((new_job(), _replacing(after=("nothing",)))))
    error = await harness.refused(DependencyCycle, Start((new_job(), _replacing(after=(last.id,)))))
    assert set(error.chain_ids) == {job.id, middle.id, last.id}
    await harness.refused(DependencyCycle, Start((_replacing(after=(job.id,)),)))
    starts = (_replacing(after=(last.id,)),)
    settlement = replace(completed(running), starts=starts, expected=(job.id,))
    (answer,) = await harness.settle(settlement)
    assert isinstance(answer.refused, DependencyCycle)
    # The chain would wait for a chain that begins to wait for it in the same operation.
    starts = (_replacing(after=(running.id,)),)
    settlement = continued(running, next_job(running, after=(job.id,)))
    (answer,) = await harness.settle(replace(settlement, starts=starts, expected=(job.id,)))
    assert isinstance(answer.refused, DependencyCycle)
    assert await harness.everything() == before


async def the_new_lanes_apply(harness: Harness) -> None:
    gpu, account, other = limit(name="gpu"), order(name="account"), order(name="other")
    holder = with_lanes(new_job(), gpu)
    await harness.start(holder)
    held = await harness.claim_one()
    # From a full limit to none, and back.
    waiting = await harness.started(with_lanes(new_job(key="k"), gpu))
    assert await harness.claim() == []
    await harness.start(_replacing(input=b"free"))
    assert (await harness.claim_one()).input == b"free"
    waiting = await harness.started(_replacing(delay=60))
    await harness.start(with_lanes(_replacing(input=b"waits", priority=5), gpu))
    assert await harness.claim(limit=9) == []
    await harness.settled(completed(held))
    got = await harness.claim_one()
    assert (got.id, got.input) == (waiting.id, b"waits")
    await harness.settled(completed(got))

    # In the same order it keeps its position. In another one, the jobs behind it are free.
    first = await harness.started(with_lanes(new_job(key="order", delay=60), account))
    behind = await harness.started(with_lanes(new_job(), account))
    assert await harness.claim(limit=9) == []
    await harness.start(with_lanes(_replacing(key="order", delay=60, priority=9), account))
    assert await harness.claim(limit=9) == []
    await harness.start(with_lanes(_replacing(key="order", delay=60), other))
    last = await harness.started(with_lanes(new_job(), other))
    assert [job.id for job in await harness.claim(limit=9)] == [behind.id]
    harness.clock.advance(60)
    assert [job.id for job in await harness.claim(limit=9)] == [first.id]
    await harness.settled(completed(await harness.job(first.id)))
    assert [job.id for job in await harness.claim(limit=9)] == [last.id]


async def a_rate_counts_the_first_attempt_after_a_replacement(harness: Harness) -> None:
    api = rate(1, per=60)
    await harness.start(with_lanes(new_job(key="k"), api))
    await harness.settled(retrying(await harness.claim_one()))
    await harness.start(with_lanes(_replacing(), api))

    assert await harness.claim() == []
    harness.clock.advance(60)
    await harness.claim_one()
    await harness.start(with_lanes(new_job(), api))
    assert await harness.claim() == []


def _replacing(type: str = "resize", *, key: str = "k", **options: Any) -> NewJob:
    """A start with `replace=True`."""
    return new_job(type, key=key, dedup="waiting", **options)


async def _found(harness: Harness, job: NewJob) -> str | None:
    """The id of the chain that the start returned, if it was not created."""
    ((chain, deduplicated),) = await harness.start(job)
    return chain.first.id if deduplicated else None
