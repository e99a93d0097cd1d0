"""Audit: what changes nothing leaves no entry."""

from __future__ import annotations

from typing import Any

from holdfast.core.clock import SECOND
from holdfast.engine.operations import (
    Audit,
    CancelChains,
    DeclareLimits,
    Delete,
    GetAudit,
    LimitDeclaration,
    Operation,
    Pause,
    Resume,
    RetryJobs,
    RunNow,
    SetLimit,
    SkipJobs,
)
from holdfast.errors import ChainNotFound, NotPending, StillReferenced
from holdfast.testing.builders import failed, new_job
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, order

ANN, BEN = Audit("ann", "a reason"), Audit("ben")


async def an_operation_without_an_audit_leaves_no_entry(harness: Harness) -> None:
    job = await harness.started()
    await harness.perform(CancelChains((job.id,)))
    await harness.perform(RetryJobs((job.id,)))
    await harness.perform(RunNow((job.id,)))
    await harness.perform(Pause(("resize",)))
    await harness.perform(Resume(("resize",)))
    await harness.perform(Delete((job.id,)))

    assert await harness.perform(GetAudit(limit=100)) == []


async def what_does_not_change_leaves_no_entry(harness: Harness) -> None:
    done = await harness.completed()
    due = await harness.started()
    await harness.perform(Pause(("other",)))

    await harness.perform(CancelChains((done.id,), audit=ANN))
    await harness.perform(RunNow((due.id,), audit=ANN))
    await harness.perform(Delete(("unknown",), audit=ANN))
    await harness.perform(Pause(("other",), audit=ANN))
    await harness.perform(Resume(("another",), audit=ANN))
    await harness.perform(CancelChains((due.id, due.id), audit=ANN))
    await harness.perform(CancelChains((due.id,), audit=BEN))

    rows = await harness.perform(GetAudit(limit=100))
    assert [(row.user, row.action, row.target) for row in rows] == [("ann", "cancel", due.id)]


async def a_second_skip_and_a_skip_of_a_job_without_an_order_leave_no_entry(harness: Harness) -> None:
    plain, held = await harness.claimed(), await harness.claimed(laned(order()))
    passing = await harness.claimed(laned(order(hold=False, name="other")))
    chained = await harness.claimed(laned(order(chain=True, name="chained")))
    for job in (plain, held, passing, chained):
        await harness.settled(failed(job))

    await harness.perform(SkipJobs((plain.id, passing.id), audit=ANN))
    assert await _actions(harness) == []
    answer = await harness.perform(SkipJobs((plain.id, held.id, held.id, chained.id), audit=ANN))
    assert [job.id for job in answer] == [plain.id, held.id, held.id, chained.id]
    await harness.perform(SkipJobs((held.id, chained.id), audit=BEN))

    rows = await harness.perform(GetAudit(limit=100))
    assert {(row.user, row.action, row.target) for row in rows} == {
        ("ann", "skip", held.id),
        ("ann", "skip", chained.id),
    }
    assert len(rows) == 2


async def a_job_that_is_skipped_retried_and_failed_may_be_skipped_again(harness: Harness) -> None:
    held = await harness.claimed(laned(order()))
    await harness.settled(failed(held))
    await harness.perform(SkipJobs((held.id,), audit=ANN))
    await harness.perform(RetryJobs((held.id,)))
    await harness.settled(failed(await harness.claim_one()))

    await harness.perform(SkipJobs((held.id,), audit=BEN))

    assert await _actions(harness) == ["ben skip", "ann skip"]


async def a_number_of_a_limit_that_does_not_change_leaves_no_entry(harness: Harness) -> None:
    await harness.perform(
        DeclareLimits((LimitDeclaration("gpu", "limit", 2), LimitDeclaration("api", "rate", 5, SECOND)))
    )
    for key in (None, "a key"):
        await harness.perform(SetLimit("gpu", None, key, audit=BEN))
        await harness.perform(
            SetLimit("gpu", 2, key, audit=ANN)
        )  # the number of an operator, though it is the declared one
        await harness.perform(SetLimit("gpu", 2, key, audit=BEN))
        await harness.perform(SetLimit("gpu", 0, key, audit=ANN))
        await harness.perform(SetLimit("gpu", 0, key, audit=BEN))
        await harness.perform(SetLimit("gpu", None, key, audit=ANN))
        await harness.perform(SetLimit("gpu", None, key, audit=BEN))

    assert await _actions(harness) == ["ann reset_limit", "ann set_limit", "ann set_limit"] * 2


async def of_concurrent_equal_changes_one_leaves_an_entry(harness: Harness) -> None:
    other = await harness.second_store()
    await harness.perform(DeclareLimits((LimitDeclaration("gpu", "limit", 2),)))
    held = await harness.claimed(laned(order()))
    await harness.settled(failed(held))
    changes: list[Operation[Any]] = [
        Pause(("resize",), audit=ANN), SetLimit("gpu", 4, audit=ANN), SetLimit("gpu", 4, "a key", audit=ANN),
        SkipJobs((held.id,), audit=ANN), CancelChains(((await harness.started()).id,), audit=ANN),
    ]  # fmt: skip

    for change in changes:
        await harness.race([_perform(each, change) for each in (harness, other) * 3])

    assert sorted(await _actions(harness)) == ["ann cancel", "ann pause", "ann set_limit", "ann set_limit", "ann skip"]


async def a_refused_operation_leaves_no_entry(harness: Harness) -> None:
    job = await harness.started()
    await harness.start(new_job("other", after=(job.id,)))

    await harness.refused(NotPending, RetryJobs((job.id,), audit=ANN))
    await harness.refused(ChainNotFound, CancelChains((job.id, "unknown"), audit=ANN))
    await harness.refused(StillReferenced, Delete((job.id,), audit=ANN))

    assert await harness.perform(GetAudit(limit=100)) == []


async def _perform(harness: Harness, operation: Operation[Any]) -> None:
    await harness.perform(operation)


async def _actions(harness: Harness) -> list[str]:
    return [f"{row.user} {row.action}" for row in await harness.perform(GetAudit(limit=100))]
