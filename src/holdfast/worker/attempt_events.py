"""Emits the events of an attempt: claimed, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.core.clock import SECOND
from holdfast.core.failure import read_error
from holdfast.core.job import Chain
from holdfast.core.lifecycle import Settlement, create
from holdfast.core.record import Record, Status
from holdfast.engine.observers import Observers
from holdfast.engine.operations import Settled
from holdfast.worker.held_claims import HeldClaim, lease_clock


def emit_claimed(observers: Observers, records: Sequence[Record]) -> None:
    """Emit `claimed` for each job, with the seconds between its due time and its claim."""
    if observers.wants("claimed"):
        for record in records:
            observers.emit("claimed", record, waited=((record.started_at or 0) - record.scheduled_at) / SECOND)


def emit_end(
    observers: Observers,
    held_claim: HeldClaim,
    settlement: Settlement | None,
    answer: Settled,
    started: Sequence[Chain[Any]] = (),
    *,
    cause: BaseException | None = None,
) -> None:
    """Emit how the attempt ended. Call this after the commit of its settlement, or when its claim is known to be lost.

    `cause` is the exception of an attempt that failed.
    """
    record = held_claim.record
    if settlement is None or answer.lost is not None or answer.refused is not None:
        observers.emit("lost", record, duration=_duration(held_claim), detail=answer.lost or str(answer.refused))
        return
    kind, detail = settlement.outcome, None
    if settlement.continuation is not None:
        kind, detail = "continued", settlement.continuation.type
    elif kind in ("failed", "mismatched"):
        if settlement.status is Status.PENDING:
            kind = "retrying" if kind == "failed" else kind
            detail = f"again in {settlement.delay / SECOND:.1f} s"
        else:
            kind = "failed"
    if observers.wants(kind):
        duration, error = _duration(held_claim), read_error(settlement.error)
        observers.emit(
            kind, record, duration=duration, error=error, detail=detail,
            cause=cause if kind in ("failed", "retrying") else None,
        )  # fmt: skip
    if settlement.status is Status.FAILED:
        for hook in settlement.starts:
            observers.emit("created", create(hook))
    for chain in started:
        if not chain.deduplicated:
            observers.emit("created", chain.record.first)
    for job_id, name in answer.unblocked:
        observers.emit("unblocked", job_id=job_id, type=name)


def _duration(held_claim: HeldClaim) -> float:
    return lease_clock() - held_claim.begun - held_claim.ahead
