"""Decides whether a claim is lost, from the job's record in the store."""

from __future__ import annotations

from holdfast.core.record import Claim, Record, Status
from holdfast.engine.operations import LostReason


def lost(record: Record | None, claim: Claim) -> LostReason | None:
    """Why the claim is lost; None if it is still valid."""
    if record is None:
        return "not_found"
    if record.status is Status.CANCELLED:
        return "cancelled"
    if record.status is Status.COMPLETED:
        return "already_completed"
    return None if record.token == claim.token else "taken_by_another_worker"
