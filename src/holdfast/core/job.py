"""Jobs, chains and reports as callers see them: copies of the state when they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, cast

from holdfast.core.clock import Micros, to_datetime
from holdfast.core.failure import ErrorText, read_error
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.core.step_report import Step
from holdfast.core.steps import NEVER

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Decoder(Protocol):
    """Decodes stored bytes by job type. For an unknown type it returns plain JSON values."""

    def input(self, type: str, stored: bytes) -> Any: ...

    def output(self, type: str, stored: bytes) -> Any: ...


class Job:
    """A copy of a job. `input` and `output` are decoded at each access."""

    __slots__ = ("_decoder", "record")

    def __init__(self, record: Record, decoder: Decoder) -> None:
        self.record = record
        self._decoder = decoder

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def type(self) -> str:
        return self.record.type

    @property
    def chain_id(self) -> str:
        return self.record.chain_id

    @property
    def index(self) -> int:
        """The position of the job in its chain, from 0."""
        return self.record.index

    @property
    def status(self) -> Status:
        return self.record.status

    @property
    def attempt(self) -> int:
        """The number of the current or last attempt; 0 before the first."""
        return self.record.attempt

    @property
    def max_attempts(self) -> int | None:
        """The limit of attempts. None: no limit, or not yet set by the default of a worker."""
        return self.record.max_attempts or None

    @property
    def input(self) -> Any:
        """The arguments by name."""
        return self._decoder.input(self.record.type, self.record.input)

    @property
    def output(self) -> Any:
        """The value that the job returned; None unless it completed without a continuation."""
        output = self.record.output
        return None if output is None else self._decoder.output(self.record.type, output)

    @property
    def error(self) -> ErrorText | None:
        """Why the last attempt did not complete the job."""
        return read_error(self.record.error)

    @property
    def priority(self) -> int:
        return self.record.priority

    @property
    def key(self) -> str | None:
        return self.record.key

    @property
    def worker(self) -> str | None:
        """The worker that holds the job, or completed it; None if it was completed from outside."""
        return self.record.worker

    @property
    def leased_until(self) -> datetime | None:
        return moment(self.record.leased_until)

    @property
    def renewed_at(self) -> datetime | None:
        return moment(self.record.renewed_at)

    @property
    def progress(self) -> float | None:
        return self.record.progress

    @property
    def progress_note(self) -> str | None:
        return self.record.progress_note

    @property
    def created_at(self) -> datetime:
        return to_datetime(self.record.created_at)

    @property
    def scheduled_at(self) -> datetime | None:
        """When the job is or was due. None: it waits for a message without a timeout, or did so when it ended.

        A job that waits for a message with a timeout is due at the timeout.
        """
        return moment(self.record.scheduled_at)

    @property
    def started_at(self) -> datetime | None:
        """When the current or last attempt began."""
        return moment(self.record.started_at)

    @property
    def finished_at(self) -> datetime | None:
        return moment(self.record.finished_at)

    @property
    def open_blockers(self) -> int:
        """The number of blockers that are not completed."""
        return self.record.open_blockers

    @property
    def origin(self) -> str | None:
        """Of the first job of a chain: the id of the job that started it, in its completion or as its failure hook."""
        return self.record.origin

    @property
    def trace(self) -> str | None:
        """The trace context of the caller that started the chain."""
        return self.record.trace

    @property
    def carrier(self) -> dict[str, str]:
        """The named texts that the plugins of the caller stored with the job. Empty if there are none."""
        return self.record.carrier

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.record == other.record

    def __hash__(self) -> int:
        return hash(self.record.id)

    def __repr__(self) -> str:
        record = self.record
        return f"<Job {record.id} {record.type!r} {record.status} attempt={record.attempt}>"


class Chain(Generic[T_co]):
    """A copy of a chain. A chain has the id of its first job.

    Status, output and error are those of its last job, `job`. `deduplicated`: `start` found it instead of creating it.
    """

    __slots__ = ("_decoder", "deduplicated", "record")

    def __init__(self, record: ChainRecord, decoder: Decoder, *, deduplicated: bool = False) -> None:
        self.record = record
        self._decoder = decoder
        self.deduplicated = deduplicated

    @property
    def id(self) -> str:
        return self.record.first.id

    @property
    def type(self) -> str:
        """The type of its first job."""
        return self.record.first.type

    @property
    def status(self) -> Status:
        return self.record.last.status

    @property
    def output(self) -> T_co | None:
        """The output of the last job; None unless the chain is completed."""
        return cast("T_co | None", self.job.output)

    @property
    def error(self) -> ErrorText | None:
        return self.job.error

    @property
    def key(self) -> str | None:
        return self.record.first.key

    @property
    def created_at(self) -> datetime:
        return to_datetime(self.record.first.created_at)

    @property
    def scheduled_at(self) -> datetime | None:
        return self.job.scheduled_at

    @property
    def finished_at(self) -> datetime | None:
        return self.job.finished_at

    @property
    def first_job(self) -> Job:
        return Job(self.record.first, self._decoder)

    @property
    def job(self) -> Job:
        """The current job: the last one."""
        return Job(self.record.last, self._decoder)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and self.record == other.record

    def __hash__(self) -> int:
        return hash(self.record.first.id)

    def __repr__(self) -> str:
        return f"<Chain {self.id} {self.type!r} {self.status}>"


@dataclass(frozen=True, slots=True)
class AttemptReport:
    """One attempt of a job.

    `outcome` is running, completed, failed, rescheduled, suspended, released, mismatched, lost or cancelled. Suspended:
    the handler slept or waited for a message. Mismatched: the input did not match the worker's signature, so the
    handler was not called. `number` counts from 1 again after a retry by hand. The number of a suspended, released or
    mismatched attempt is used again for the next one. `log`: what the handler logged,
    one line per record, if a plugin such as `StoreLogs` stored it.
    """

    number: int
    worker: str | None
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str
    error: ErrorText | None
    next_at: datetime | None = None
    log: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Report:
    """The history of a job: every attempt, oldest first."""

    job: Job
    attempts: Sequence[AttemptReport]
    steps: Sequence[Step] = ()
    """The steps that are finished or failed, in order of completion."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change that an operator made.

    `action` is cancel, retry, run_now, delete, pause, resume, drain_worker or the name of another change. `target` is
    the id of the chain, job or worker, or the name of the type.
    """

    at: datetime
    user: str
    action: str
    target: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list, newest first. `next_cursor` continues the list; None at its end.

    A page may have fewer items than were asked for, even none, although the list continues.
    """

    items: Sequence[T]
    next_cursor: str | None


def moment(micros: Micros | None) -> datetime | None:
    """A stored time as a datetime. None if there is none, or if it is `NEVER`."""
    return None if micros is None or micros >= NEVER else to_datetime(micros)
