"""Tells observers how an attempt began, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.clock import SECOND
from holdfast.failure import read_error
from holdfast.job import Chain
from holdfast.lifecycle import Settlement
from holdfast.observer import Observers
from holdfast.operations import Settled
from holdfast.record import Record, Status
from holdfast.worker.holdings import Holding, ticks


def tell_claimed(observers: Observers, records: Sequence[Record]) -> None:
    """Tell which jobs were claimed, and how long they had been due."""
    if observers.wants("claimed"):
        for record in records:
            observers.tell("claimed", record, waited=((record.started_at or 0) - record.scheduled_at) / SECOND)


def tell_end(
    observers: Observers,
    holding: Holding,
    settlement: Settlement | None,
    answer: Settled,
    started: Sequence[Chain[Any]] = (),
) -> None:
    """Tell how the attempt ended and what came of it: called when it is committed, or known to be lost."""
    record = holding.record
    if settlement is None or answer.lost is not None or answer.refused is not None:
        observers.tell("lost", record, duration=ticks() - holding.begun, detail=answer.lost or str(answer.refused))
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
        duration, error = ticks() - holding.begun, read_error(settlement.error)
        observers.tell(kind, record, duration=duration, error=error, detail=detail)
    for chain in started:
        if not chain.deduplicated:
            observers.tell("created", chain.record.first)
    for job_id, name in answer.unblocked:
        observers.tell("unblocked", job_id=job_id, type=name)
