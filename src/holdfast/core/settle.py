"""What the outcome of an attempt means for its job. Pure: no clock, no I/O."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import Micros, duration
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
)
from holdfast.core.mismatch import settle_mismatch
from holdfast.core.permanent_failure import fail, has_attempts_left
from holdfast.core.record import Record, Status
from holdfast.core.retry import Retry, Seconds, seconds


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
            return settle_mismatch(job, error, retry, duration(seconds(mismatch_timeout)))
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
