"""Audit: what operators changed is written with the change, and kept for ninety days."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.clock import SECOND
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import (
    AUDIT_KEPT,
    Audit,
    AuditRow,
    CancelChains,
    ChangeSchedule,
    Complete,
    Completion,
    DeclareLimits,
    Delete,
    DrainWorker,
    GetAudit,
    LimitDeclaration,
    Pause,
    Prune,
    ReportWorker,
    Resume,
    RetryJobs,
    RunNow,
    SendMessage,
    SetLimit,
    SkipJobs,
)
from holdfast.errors import AlreadyCompleted, LimitNotFound
from holdfast.testing.builders import continued, failed, new_job, next_job
from holdfast.testing.conformance.harness import Harness
from holdfast.testing.lanes import laned, order

ANN, BEN = Audit("ann", "a reason, «quoted»"), Audit("ben")


async def every_change_of_an_operator_is_written_with_its_user_and_reason(harness: Harness) -> None:
    later = await harness.started(new_job(delay=60))
    lost = await harness.claimed()
    await harness.settled(failed(lost))
    began = harness.clock()

    await harness.perform(RunNow((later.id,), audit=ANN))
    harness.clock.advance(1)
    await harness.perform(RetryJobs((lost.id,), audit=BEN))
    await harness.perform(CancelChains((later.id, lost.id), audit=ANN))
    await harness.perform(Delete((later.id,), audit=BEN))
    await harness.perform(Pause(("b", "a"), audit=ANN))
    await harness.perform(Resume(("b", "a"), audit=BEN))

    rows = await harness.perform(GetAudit(limit=100))
    assert [(row.user, row.action, row.target, row.chain_id) for row in rows] == [
        ("ben", "resume", "a", None),
        ("ben", "resume", "b", None),
        ("ann", "pause", "a", None),
        ("ann", "pause", "b", None),
        ("ben", "delete", later.id, later.id),
        ("ann", "cancel", lost.id, lost.id),
        ("ann", "cancel", later.id, later.id),
        ("ben", "retry", lost.id, lost.id),
        ("ann", "run_now", later.id, later.id),
    ]
    assert {row.user: row.reason for row in rows} == {"ann": "a reason, «quoted»", "ben": None}
    assert {row.at for row in rows[:-1]} == {began + SECOND}
    assert rows[-1] == AuditRow(began, "ann", "run_now", later.id, later.id, "a reason, «quoted»")


async def a_message_of_an_operator_is_written_once(harness: Harness) -> None:
    job = await harness.started()

    await harness.perform(SendMessage(job.id, "approved", b"1", audit=ANN))
    await harness.perform(SendMessage(job.id, "approved", b"2", audit=BEN))
    await harness.perform(SendMessage(job.id, "other", b"1"))

    (row,) = await harness.perform(GetAudit(limit=100))
    assert (row.user, row.action, row.target, row.chain_id) == (ANN.user, "send", job.id, job.id)


async def the_draining_of_a_worker_is_written(harness: Harness) -> None:
    await harness.perform(ReportWorker(WorkerRecord("one", "server", 1, ("resize",), 5)))

    assert not await harness.perform(DrainWorker("another", audit=ANN))
    assert await harness.perform(DrainWorker("one", audit=ANN))
    assert await harness.perform(DrainWorker("one", audit=BEN))

    (row,) = await harness.perform(GetAudit(limit=100))
    assert (row.user, row.action, row.target, row.chain_id) == ("ann", "drain_worker", "one", None)


async def changes_of_limits_schedules_and_completions_are_written(harness: Harness) -> None:
    """A change that was refused, or was made by an earlier try already, leaves no entry."""
    await harness.perform(DeclareLimits((LimitDeclaration("gpu", "limit", 2),)))
    lost = await harness.claimed(laned(order()))
    await harness.settled(failed(lost))
    pausing = ChangeSchedule("nightly", None, "v1", "resize", b"{}", action="pause_schedule", audit=ANN)

    await harness.perform(SetLimit("gpu", 4, audit=ANN))
    await harness.perform(SetLimit("gpu", None, audit=BEN))
    await harness.perform(SetLimit("gpu", 1, "a key", audit=ANN))
    await harness.perform(SetLimit("gpu", 3))
    await harness.refused(LimitNotFound, SetLimit("another", 4, audit=ANN))
    await harness.perform(SkipJobs((lost.id,), audit=BEN))
    assert await harness.perform(pausing) == []
    assert await harness.perform(pausing) == []
    assert await harness.perform(ChangeSchedule("nightly", "v0", "v2", action="fire", audit=ANN)) is None
    waiting = await harness.started()
    completing = Complete(waiting.id, waiting.id, (Completion(output=b"1"),), audit=BEN)
    await harness.perform(completing)
    await harness.refused(AlreadyCompleted, completing)

    rows = await harness.perform(GetAudit(limit=100))
    assert [(row.user, row.action, row.target, row.chain_id) for row in rows] == [
        ("ben", "complete", waiting.id, waiting.id),
        ("ann", "pause_schedule", "nightly", None),
        ("ben", "skip", lost.id, lost.id),
        ("ann", "set_limit", "gpu", None),
        ("ben", "reset_limit", "gpu", None),
        ("ann", "set_limit", "gpu", None),
    ]
    assert rows[1].reason == "a reason, «quoted»"


async def all_changes_of_a_large_operation_are_written(harness: Harness) -> None:
    jobs = [one.chain.first for one in await harness.start(*[new_job() for _ in range(150)])]
    ids = tuple(job.id for job in jobs)

    await harness.perform(CancelChains(ids, audit=ANN))
    await harness.perform(RetryJobs(ids, audit=ANN))
    await harness.perform(Delete(ids, audit=ANN))

    rows = await harness.perform(GetAudit(limit=1000))
    assert len(rows) == 450
    for action in ("cancel", "retry", "delete"):
        assert {row.target for row in rows if row.action == action} == {*ids}
    assert await _actions(harness, about=(ids[0],)) == ["ann delete", "ann retry", "ann cancel"]


async def entries_are_found_by_target_chain_and_time(harness: Harness) -> None:
    first = await harness.claimed()
    await harness.settled(continued(first, next_job(first, "publish")))
    second = await harness.claim_one("publish")
    await harness.settled(failed(second))
    other = await harness.started(new_job("other"))
    await harness.perform(RetryJobs((second.id,), audit=ANN))
    harness.clock.advance(10)
    await harness.perform(CancelChains((other.id,), audit=ANN))
    await harness.perform(CancelChains((first.id,), audit=BEN))

    assert await _actions(harness, about=(first.id,)) == ["ben cancel", "ann retry"]
    assert await _actions(harness, about=(second.id,)) == ["ann retry"]
    assert await _actions(harness, about=(other.id, second.id)) == ["ann cancel", "ann retry"]
    assert await _actions(harness, about=("unknown",)) == []
    assert await _actions(harness, since=harness.clock()) == ["ben cancel", "ann cancel"]
    assert await _actions(harness, since=harness.clock() + 1) == []
    assert await _actions(harness, about=(first.id,), since=harness.clock()) == ["ben cancel"]
    newest = await harness.perform(GetAudit(limit=2))
    assert [row.target for row in newest] == [first.id, other.id]


async def entries_are_kept_for_ninety_days(harness: Harness) -> None:
    job = await harness.started()
    await harness.perform(CancelChains((job.id,), audit=ANN))
    await harness.perform(Delete((job.id,)))
    harness.clock.advance(AUDIT_KEPT / SECOND)

    await harness.perform(Prune(10))
    assert await _actions(harness, about=(job.id,)) == ["ann cancel"]
    await harness.perform(Pause(("resize",), audit=BEN))
    harness.clock.advance(0.000001)
    assert await _actions(harness) == ["ben pause"]
    await harness.perform(Prune(10))
    harness.clock.move_to(harness.clock() - SECOND)  # the entry is deleted, and not only left out
    assert await _actions(harness) == ["ben pause"]


async def an_entry_of_a_transaction_that_is_rolled_back_is_not_written(harness: Harness) -> None:
    job = await harness.started()
    tx = await harness.begin()
    try:
        await tx.perform(CancelChains((job.id,), audit=ANN))
    except TypeError:  # a store without transactions refuses it
        pass
    finally:
        await tx.rollback()

    assert await _actions(harness) == []


async def _actions(harness: Harness, *, about: Sequence[str] = (), since: int | None = None) -> list[str]:
    rows = await harness.perform(GetAudit(100, tuple(about), since))
    return [f"{row.user} {row.action}" for row in rows]
