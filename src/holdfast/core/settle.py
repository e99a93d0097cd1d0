"""What the outcome of an attempt means for its job. Pure: no clock, no I/O."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import SECOND, Micros, duration
from holdfast.core.defaults import MISMATCH_TIMEOUT
from holdfast.core.error_groups import classify
from holdfast.core.failure import describe
from holdfast.core.lifecycle import (
    Cancel,
    Continued,
    Fail,
    Mismatched,
    Outcome,
    Raised,
    Released,
    Reschedule,
    Returned,
    Settlement,
    SuspendedFor,
    hook_chain,
)
from holdfast.core.record import UNLIMITED, Record, Status
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.errors import PayloadRefused

SHORTEST_MISMATCH_DELAY = Retry(initial=0.1, multiplier=2, maximum=5, jitter=0)
"""The minimum delay after a mismatch. Without it, a type with a short `Retry` would be claimed in a busy loop."""


def settle(
    job: Record, outcome: Outcome, retry: Retry, *, mismatch_timeout: Seconds = MISMATCH_TIMEOUT, ahead: Micros = 0
) -> Settlement:
    """Decide the status of a job after an attempt, which began this long (`ahead`) after its claim.

    `mismatch_timeout`: how long its input may be unreadable.
    """
    if isinstance(outcome, Returned):  # most attempts
        return Settlement(job.claim, Status.COMPLETED, "completed", outcome.output, ahead=ahead)
    settlement = _settle(job, outcome, retry, mismatch_timeout)
    return replace(settlement, ahead=ahead) if ahead else settlement


def _settle(
    job: Record,
    outcome: Continued | Raised | Released | Mismatched | SuspendedFor,
    retry: Retry,
    mismatch_timeout: Seconds,
) -> Settlement:
    claim = job.claim
    match outcome:
        case Continued(next_job):
            return Settlement(claim, Status.COMPLETED, "completed", continuation=next_job)
        case Released(begun):
            return Settlement(claim, Status.PENDING, "released", begun=begun)
        case SuspendedFor(waits):
            return Settlement(claim, Status.PENDING, "suspended", waits=waits)
        case Mismatched(error):
            return _settle_mismatch(job, error, retry, duration(seconds(mismatch_timeout)))
        case Raised(Cancel() as error):
            return Settlement(claim, Status.CANCELLED, "cancelled", error=describe(error))
        case Raised(Fail() as error):
            return fail(job, describe(error))
        case Raised(error) if not has_attempts_left(job):
            return fail(job, describe(error))
        case Raised(Reschedule(delay=delay, at=at) as error):
            cause = None if error.__cause__ is None else describe(error.__cause__)
            return Settlement(claim, Status.PENDING, "rescheduled", error=cause, delay=delay, at=at)
        case Raised(error):
            delay, stored = duration(retry.delay(job.attempt)), describe(error)
            failure = classify(job.type, stored)
            return Settlement(claim, Status.PENDING, "failed", error=stored, delay=delay, failure=failure)


def fail(job: Record, error: bytes, *, outcome: str = "failed") -> Settlement:
    """The permanent failure of a job, which starts its hook."""
    attempt = job.attempt - 1 if outcome == "mismatched" else job.attempt
    hook = None if job.details is None else hook_chain(replace(job, error=error, attempt=attempt))
    group = classify(job.type, error)
    if hook is None:
        return Settlement(job.claim, Status.FAILED, outcome, error=error, failure=group)
    starts = (hook,)
    return Settlement(job.claim, Status.FAILED, outcome, error=error, starts=starts, expected=(hook.id,), failure=group)


def _settle_mismatch(job: Record, error: PayloadRefused, retry: Retry, timeout: Micros) -> Settlement:
    """Try again after the delay of the n-th failure, where n counts the mismatches in a row. Fail after the timeout.

    The times of the first mismatch and of this claim come from the store. The last delay ends with the timeout.
    """
    begun = job.started_at or 0
    left = timeout if job.mismatched_at is None else job.mismatched_at + timeout - begun
    if left <= 0:
        refused = PayloadRefused(f"{error}. No worker accepted it within {timeout / SECOND:g} s (mismatch_timeout)")
        return fail(job, describe(refused), outcome="mismatched")
    number = (job.mismatches or 0) + 1
    delay = duration(max(retry.delay(number), SHORTEST_MISMATCH_DELAY.delay(number)))
    # Not the error itself: its class may be private, and its traceback contains only the engine.
    stored = describe(PayloadRefused(str(error)))
    return Settlement(job.claim, Status.PENDING, "mismatched", error=stored, delay=min(delay, left))


def has_attempts_left(job: Record) -> bool:
    """Whether the job may run again after its current attempt."""
    return job.max_attempts in (None, UNLIMITED) or job.attempt < job.max_attempts
