"""Jobs and settlements for tests, with defaults for every field."""

from __future__ import annotations

from holdfast.core import failure
from holdfast.core.clock import Micros, duration
from holdfast.core.details import FailureHook, JobDetails, write_details
from holdfast.core.ids import new_id
from holdfast.core.lifecycle import DedupScope, NewJob, Settlement
from holdfast.core.permanent_failure import fail
from holdfast.core.record import Record, Status
from holdfast.core.retry import Seconds, seconds
from holdfast.core.steps import Checkpoint, StepKind, Wait


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
    blocker_types: tuple[str, ...] = (),
    trace: str | None = None,
    on_failure: FailureHook | None = None,
    due_within: Seconds | None = None,
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
        blocker_types=blocker_types,
        details=write_details(JobDetails(trace=trace, on_failure=on_failure)),
        chosen=given is not None,
        due_within=_micros(due_within),
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
    blocker_types: tuple[str, ...] = (),
    on_failure: FailureHook | None = None,
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
        blocker_types=blocker_types,
        details=write_details(JobDetails(on_failure=on_failure)),
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


def sleep_for(name: str, delay: Seconds, *, number: int = 1) -> Wait:
    """A sleep that suspends its attempt."""
    return Wait(name, "", "sleep", number, 1, delay=duration(seconds(delay)))


def receive_of(name: str, timeout: Seconds | None = None, *, number: int = 1) -> Wait:
    """A receive that suspends its attempt."""
    return Wait(name, "", "receive", number, 1, delay=_micros(timeout))


def suspended(job: Record, *waits: Wait) -> Settlement:
    """The attempt waits for the end of sleeps, or for messages."""
    return Settlement(job.claim, Status.PENDING, "suspended", waits=waits)


def checkpoint(
    job: Record,
    name: str,
    *,
    each: str = "",
    kind: StepKind = "step",
    number: int = 1,
    result: bytes | None = b"null",
    error: bytes | None = None,
    took: Seconds = 0,
    done: bool = True,
) -> Checkpoint:
    """A step of an attempt, to be stored."""
    return Checkpoint(
        job.claim, name, each, kind, number, job.attempt, result=result, error=error,
        took=duration(seconds(took)), done=done,
    )  # fmt: skip


def mismatched(job: Record, *, delay: Seconds = 0, error: str = "no such parameter") -> Settlement:
    """The worker could not read the input; another worker may."""
    stored = failure.write("PayloadRefused", "no such parameter")
    return Settlement(job.claim, Status.PENDING, "mismatched", error=stored, delay=duration(seconds(delay)))


def finally_mismatched(job: Record) -> Settlement:
    """No worker could read the input within the mismatch timeout."""
    return fail(job, failure.write("PayloadRefused", "no such parameter"), outcome="mismatched")


def failed(job: Record, error: str = "no luck") -> Settlement:
    """The last attempt failed. The settlement starts the failure hook of the job, if it has one."""
    return fail(job, failure.write("ValueError", error))


def cancelled(job: Record) -> Settlement:
    """The attempt cancelled its job."""
    return Settlement(job.claim, Status.CANCELLED, "cancelled", error=failure.write("Cancel", "no longer wanted"))


def _micros(value: Seconds | None) -> Micros | None:
    return None if value is None else duration(seconds(value))
