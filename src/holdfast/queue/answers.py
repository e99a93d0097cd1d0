"""The answers of a named queue, and the states of its jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from holdfast.core.failure import ErrorText
from holdfast.core.record import Record, Status, is_failing

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

State = Literal["queued", "processing", "failing", "completed", "failed"]
"""A failing job waits for another attempt after one that failed or was lost."""

Cancelling = Literal["cancelled", "not_found", "processing", "completed"]
"""The answer of a cancel: done; no such id; not done, since the job runs; not done, since the job is finished."""

Updating = Literal["updated", "not_found", "not_terminal", "missing_payload"]
"""The answer of a new time to live: set; no such id; the job is not finished; the job has no result."""


@dataclass(frozen=True, slots=True)
class Queued:
    """The job is stored and will run."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The store has an unfinished job with this id, or a completed one without its result. Nothing was written.

    A completed job has no result any more when its `result_ttl` is over, but not its `dedup_ttl`.
    """

    state: State


@dataclass(frozen=True, slots=True)
class Completed(Generic[R_co]):
    """A job with this id completed, and its result is still kept. Nothing was written."""

    result: R_co = field(repr=False)


Answer = Queued | Duplicate | Completed[R]
Answers = list[Answer[R]]
"""The answers of an enqueue, one for each job. Inside a class with a method `list`, `list` would be that method."""


@dataclass(frozen=True, slots=True)
class JobStatus(Generic[R_co]):
    """The state of a job. `attempts` counts every attempt, also the running one and those that were lost."""

    id: str
    state: State
    attempts: int
    max_attempts: int | None
    """None: no limit."""
    created_at: datetime
    changed_at: datetime
    """When it entered this state."""
    payload: Any = field(default=None, repr=False)
    """None where the codec of this queue cannot decode it."""
    result: R_co | None = field(default=None, repr=False)
    error: ErrorText | None = None
    """The error of the last attempt that failed: while the job is failing, runs again, or has failed."""


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many jobs of a queue are in each state. Finished jobs count until they are pruned."""

    queued: int
    processing: int
    failing: int
    completed: int
    failed: int
    scheduled: int
    """Those of the queued and failing jobs that are due later."""
    paused: bool
    """Whether `pause` stopped the queue."""


STATUSES: dict[State, tuple[Status, ...]] = {
    "queued": (Status.BLOCKED, Status.PENDING),
    "processing": (Status.RUNNING,),
    "failing": (Status.PENDING,),
    "completed": (Status.COMPLETED,),
    "failed": (Status.FAILED,),
}
"""The statuses that the jobs of a state have. A pending job is failing if `is_failing` says so, else queued."""


def state_of(job: Record) -> State | None:
    """The state of a job; None for a cancelled one, whose id is free."""
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
            return "failing" if is_failing(job) else "queued"


def enqueue_answer(job: Record, *, found: bool, has_result: bool, result: Callable[[Record], R]) -> Answer[R]:
    """The answer to the enqueue of an id: the job is new, or it was found under its id, with its result or without."""
    if not found:
        return Queued()
    if has_result:
        return Completed(result(job))
    return Duplicate(state_of(job) or "queued")
