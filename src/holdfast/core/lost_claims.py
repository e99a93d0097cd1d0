"""What a lost claim means: why it was lost, and the status of its job after a reap. Pure: no clock, no I/O.

Memory, SQLite and PostgreSQL call these functions. The Redis scripts repeat them in Lua (`shared/change.lua` and
`reap.lua`), and conformance cases compare the results.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.failure import write
from holdfast.core.permanent_failure import has_attempts_left
from holdfast.core.record import NOT_HELD, Claim, Record, Status

LostReason = Literal["taken_by_another_worker", "already_completed", "cancelled", "not_found"]


def lost_reason(status: str | None, current_token: str | None, token: str) -> LostReason | None:
    """Why a claim with this token was lost; None while it is valid.

    `status` and `current_token` are those of the job now. A status of None means that the job does not exist.
    """
    if status == "running" and current_token == token:
        return None
    if status is None:
        return "not_found"
    if status == "cancelled":
        return "cancelled"
    return "already_completed" if status == "completed" else "taken_by_another_worker"


def claim_lost_reason(record: Record | None, claim: Claim) -> LostReason | None:
    """Why a claim was lost, from the record of its job in the store; None while it is valid."""
    if record is None:
        return lost_reason(None, None, claim.token)
    return lost_reason(record.status, record.token, claim.token)


def reap(job: Record, now: Micros) -> Record:
    """The job after its lease expired: pending and due at once if it has attempts left, otherwise failed."""
    error = write("LeaseLost", f"lease lost: worker {job.worker} stopped renewing it")
    reaped = replace(job, error=error, **NOT_HELD)
    if has_attempts_left(job):
        return replace(reaped, status=Status.PENDING, scheduled_at=now)
    return replace(reaped, status=Status.FAILED, finished_at=now)
