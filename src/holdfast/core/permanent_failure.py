"""When a job fails permanently, and what is written then. Pure: no clock, no I/O."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.error_groups import classify
from holdfast.core.lifecycle import Settlement, hook_chain
from holdfast.core.record import UNLIMITED, Record, Status


def has_attempts_left(job: Record) -> bool:
    """Whether the job may run again after its current attempt."""
    return job.max_attempts in (None, UNLIMITED) or job.attempt < job.max_attempts


def fail(job: Record, error: bytes, *, outcome: str = "failed") -> Settlement:
    """The permanent failure of a job, which starts its hook."""
    attempt = job.attempt - 1 if outcome == "mismatched" else job.attempt
    hook = None if job.details is None else hook_chain(replace(job, error=error, attempt=attempt))
    group = classify(job.type, error)
    if hook is None:
        return Settlement(job.claim, Status.FAILED, outcome, error=error, failure=group)
    starts = (hook,)
    return Settlement(job.claim, Status.FAILED, outcome, error=error, starts=starts, expected=(hook.id,), failure=group)
