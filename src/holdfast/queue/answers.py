"""What a named queue answers, and the words it uses for where a job stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from holdfast.core.failure import ErrorText
from holdfast.core.record import Record, Status

R_co = TypeVar("R_co", covariant=True)

State = Literal["queued", "processing", "failing", "completed", "failed"]
"""Failing is waiting for another attempt after one that failed or was lost."""

Cancelling = Literal["cancelled", "not_found", "processing", "completed"]
"""Of a cancel: done; no such id; too late, it runs; too late, it is over."""

Updating = Literal["updated", "not_found", "not_terminal", "missing_payload"]
"""Of a new time to live: set; no such id; nothing to keep yet; completed, but its result is gone."""


@dataclass(frozen=True, slots=True)
class Queued:
    """The job was accepted: it is stored, and will run."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A job with this id is there already and not finished. Nothing was written."""

    state: State


@dataclass(frozen=True, slots=True)
class Completed(Generic[R_co]):
    """A job with this id completed, and its result is still kept. Nothing was written."""

    result: R_co


@dataclass(frozen=True, slots=True)
class JobStatus(Generic[R_co]):
    """Where a job stands. `attempts` counts every one so far, a running one and those lost in crashes included."""

    id: str
    state: State
    attempts: int
    max_attempts: int | None
    """None is for ever."""
    created_at: datetime
    changed_at: datetime
    """When it entered this state."""
    result: R_co | None = None
    error: ErrorText | None = None
    """Of the last attempt that failed: kept while it is failing, running again, or failed."""


def state_of(job: Record) -> State | None:
    """The queue's word for a job; None for a cancelled one, whose id is free again."""
    match job.status:
        case Status.RUNNING:
            return "processing"
        case Status.COMPLETED:
            return "completed"
        case Status.FAILED:
            return "failed"
        case Status.CANCELLED:
            return None
        case _:
            return "failing" if job.attempt > 0 and job.error is not None else "queued"
