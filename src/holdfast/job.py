"""Jobs and chains: as stored (`Record`) and as people see them (`Job`, `Chain`, `Report`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from holdfast.clock import Micros, to_datetime

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

FOR_EVER = 0
"""In a record's `max_attempts`: no limit. None there means that the worker's default applies."""


class Status(StrEnum):
    """Where a job stands."""

    BLOCKED = "blocked"
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        return self in FINISHED


FINISHED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})
UNFINISHED = frozenset(Status) - FINISHED


class Claim(NamedTuple):
    """Proof of holding a job. The token is new for each claim, so an older attempt's proof is worth nothing."""

    job_id: str
    token: str


class Record(msgspec.Struct, frozen=True):
    """One job, exactly as a store keeps it."""

    seq: int
    id: str
    type: str
    chain_id: str
    index: int
    status: Status
    priority: int
    attempt: int
    max_attempts: int | None
    input: bytes
    output: bytes | None
    error: bytes | None
    key: str | None
    worker: str | None
    token: str | None
    leased_until: Micros | None
    renewed_at: Micros | None
    progress: float | None
    progress_note: str | None
    created_at: Micros
    scheduled_at: Micros
    started_at: Micros | None
    finished_at: Micros | None
    timeout: Micros | None
    keep: Micros | None
    trace: str | None
    blockers: int
    open_blockers: int
    on_blocker_failure: str

    @property
    def claim(self) -> Claim:
        assert self.token is not None, f"job {self.id} is {self.status}, so nobody holds it"
        return Claim(self.id, self.token)


class ChainRecord(NamedTuple):
    """A chain: its first job, which names it, and its last, which gives it status and output."""

    first: Record
    last: Record


class ErrorText(str):
    """What went wrong in an attempt, as text: ``str(error)`` is the one line, `traceback` the whole story.

    Errors are kept as text and never turned back into exception objects.
    """

    type: str
    message: str
    traceback: str

    def __new__(cls, type: str, message: str, traceback: str = "") -> ErrorText:
        text = super().__new__(cls, f"{type}: {message}" if message else type)
        text.type, text.message, text.traceback = type, message, traceback
        return text


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was when it was read. `input` and `output` are decoded where the job type is known here."""

    id: str
    type: str
    chain_id: str
    index: int
    status: Status
    attempt: int
    max_attempts: int | None
    input: Any = field(repr=False)
    output: Any = field(repr=False)
    error: ErrorText | None
    priority: int
    key: str | None
    worker: str | None
    leased_until: datetime | None
    renewed_at: datetime | None
    progress: float | None
    progress_note: str | None
    created_at: datetime
    scheduled_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    blockers: int
    open_blockers: int
    trace: str | None = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Chain(Generic[T_co]):
    """A chain as it was when it was read. It *is* its first job: both have the same id.

    Status, output and error are those of its last job. `deduplicated` tells whether `start` found it rather than made it.
    """

    id: str
    type: str
    status: Status
    output: T_co | None = field(repr=False)
    error: ErrorText | None
    key: str | None
    created_at: datetime
    scheduled_at: datetime
    finished_at: datetime | None
    job: Job = field(repr=False)
    deduplicated: bool = False


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """One attempt of a job. `outcome`: running, completed, failed, rescheduled, released, lost or cancelled."""

    number: int
    worker: str | None
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str
    error: ErrorText | None
    next_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A job's history: every attempt, oldest first."""

    job: Job
    attempts: Sequence[AttemptReport]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of a listing, newest first. `next_cursor` continues it; None at the end."""

    items: Sequence[T]
    next_cursor: str | None


def moment(micros: Micros | None) -> datetime | None:
    """A stored time for people."""
    return None if micros is None else to_datetime(micros)
