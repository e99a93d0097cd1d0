"""Jobs and settlements for tests, with defaults for every field."""

from __future__ import annotations

from holdfast.core import failure
from holdfast.core.clock import Micros, duration
from holdfast.core.ids import new_id
from holdfast.core.lifecycle import DedupScope, NewJob, Settlement
from holdfast.core.record import Record, Status
from holdfast.core.retry import Seconds, seconds


def new_job(
    type: str = "resize",
    *,
    id: str | None = None,
    input: bytes = b"{}",
    priority: int = 0,
    delay: Seconds = 0,
    at: Micros | None = None,
    max_attempts: int | None = None,
    timeout: Seconds | None = None,
    keep: Seconds | None = None,
    dedup_for: Seconds | None = None,
    key: str | None = None,
    dedup: DedupScope = "incomplete",
    window: Seconds | None = None,
    exclude: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
    on_blocker_failure: str = "wait",
    trace: str | None = None,
) -> NewJob:
    """The first job of a chain."""
    given, id = id, new_id() if id is None else id
    return NewJob(
        id=id,
        type=type,
        chain_id=id,
        input=input,
        priority=priority,
        delay=duration(seconds(delay)),
        at=at,
        max_attempts=max_attempts,
        timeout=_micros(timeout),
        keep=_micros(keep),
        dedup_for=_micros(dedup_for),
        key=key,
        dedup=dedup,
        window=_micros(window),
        exclude=exclude,
        after=after,
        on_blocker_failure=on_blocker_failure,
        trace=trace,
        chosen=given is not None,
    )


def next_job(
    job: Record | NewJob,
    type: str = "publish",
    *,
    id: str | None = None,
    input: bytes = b"{}",
    priority: int = 0,
    delay: Seconds = 0,
    at: Micros | None = None,
    keep: Seconds | None = None,
    key: str | None = None,
    after: tuple[str, ...] = (),
    on_blocker_failure: str = "wait",
) -> NewJob:
    """A continuation of the chain of another job."""
    return NewJob(
        id=new_id() if id is None else id,
        type=type,
        chain_id=job.chain_id,
        input=input,
        index=job.index + 1,
        priority=priority,
        delay=duration(seconds(delay)),
        at=at,
        keep=_micros(keep),
        key=key,
        after=after,
        on_blocker_failure=on_blocker_failure,
    )


def completed(job: Record, output: bytes = b"null", *, starts: tuple[NewJob, ...] = ()) -> Settlement:
    """The attempt returned a value."""
    expected = tuple(start.id for start in starts)
    return Settlement(job.claim, Status.COMPLETED, "completed", output=output, starts=starts, expected=expected)


def continued(job: Record, continuation: NewJob, *, starts: tuple[NewJob, ...] = ()) -> Settlement:
    """The attempt returned a continuation."""
    expected = tuple(start.id for start in starts)
    return Settlement(
        job.claim, Status.COMPLETED, "completed", continuation=continuation, starts=starts, expected=expected
    )


def retrying(job: Record, *, delay: Seconds = 0, error: str = "no luck") -> Settlement:
    """The attempt failed, and another one will follow."""
    return Settlement(
        job.claim, Status.PENDING, "failed", error=failure.write("ValueError", error), delay=duration(seconds(delay))
    )


def rescheduled(job: Record, *, delay: Seconds = 0, at: Micros | None = None) -> Settlement:
    """The attempt raised Reschedule."""
    return Settlement(job.claim, Status.PENDING, "rescheduled", delay=duration(seconds(delay)), at=at)


def released(job: Record) -> Settlement:
    """The worker returned the job unprocessed."""
    return Settlement(job.claim, Status.PENDING, "released")


def mismatched(job: Record, *, delay: Seconds = 0, error: str = "no such parameter") -> Settlement:
    """The worker could not read the input; another worker may."""
    stored = failure.write("PayloadRefused", error)
    return Settlement(job.claim, Status.PENDING, "mismatched", error=stored, delay=duration(seconds(delay)))


def finally_mismatched(job: Record, error: str = "no such parameter") -> Settlement:
    """No worker could read the input within the mismatch timeout."""
    return Settlement(job.claim, Status.FAILED, "mismatched", error=failure.write("PayloadRefused", error))


def failed(job: Record, error: str = "no luck") -> Settlement:
    """The last attempt failed."""
    return Settlement(job.claim, Status.FAILED, "failed", error=failure.write("ValueError", error))


def cancelled(job: Record, reason: str = "no longer wanted") -> Settlement:
    """The attempt cancelled its job."""
    return Settlement(job.claim, Status.CANCELLED, "cancelled", error=failure.write("Cancel", reason))


def _micros(value: Seconds | None) -> Micros | None:
    return None if value is None else duration(seconds(value))
