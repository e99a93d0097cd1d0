"""Events: what happened, for observers in this process and for listeners of the store."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

import msgspec

from holdfast.core.clock import to_datetime
from holdfast.core.failure import ErrorText
from holdfast.core.record import Record
from holdfast.engine.operations import EventRow

JOB_EVENTS = {
    "created": "a job was started, or continues a chain, or is a failure hook",
    "replaced": "a pending job took the input of a later start",
    "unblocked": "the last chain that a job waited for has ended",
    "claimed": "a worker claimed the job",
    "started": "the handler begins",
    "renewed": "the worker renewed its lease",
    "progressed": "the handler reported progress",
    "completed": "the chain is complete",
    "continued": "the job is complete, and the chain continues",
    "retrying": "an attempt failed, and another one follows",
    "mismatched": "the worker could not read the input; another worker may",
    "rescheduled": "the handler asked for a later attempt",
    "released": "the worker returned the job without an attempt",
    "suspended": "the job sleeps or waits for a message",
    "failed": "the last attempt failed",
    "cancelled": "the chain was cancelled",
    "reaped": "the lease expired",
    "lost": "the claim of this worker no longer holds",
    "retried": "an operator retried the job",
    "made_due": "the due time was moved to now",
    "deleted": "the chain was deleted",
}
WORKER_EVENTS = {
    "worker_started": "the worker runs",
    "worker_stopping": "the worker claims no more jobs",
    "worker_stopped": "the worker has ended",
    "woken": "a wake-up arrived",
    "store_error": "an operation on the store failed, and will be tried again",
}
PROCESS_EVENTS = {
    "scaled": "the supervisor changed the number of processes",
    "process_started": "a process was started",
    "process_ready": "a process claims jobs",
    "process_draining": "a process was asked to end",
    "process_ended": "a process has ended as asked",
    "process_died": "a process has ended by itself",
    "reloaded": "the supervisor read its file again",
}


class Event(msgspec.Struct, frozen=True, dict=True):
    """One change, reported after its commit. No field contains a payload.

    `duration` is in seconds: of the attempt that ended, or of the operation that failed with `store_error`.
    `waited`: the seconds between the due time of a job and its claim.

    `record` and `cause` are objects of the process where the event happened. They are not fields: an encoder, `repr`
    and `==` ignore them.
    """

    kind: str
    at: datetime | None = None
    job_id: str | None = None
    chain_id: str | None = None
    type: str | None = None
    attempt: int | None = None
    worker: str | None = None
    duration: float | None = None
    waited: float | None = None
    error: ErrorText | None = None
    detail: str | None = None
    trace: str | None = None
    key: str | None = None

    def attach(self, *, record: Record | None = None, cause: BaseException | None = None) -> Self:
        """Set the objects of this process. Returns the event."""
        attached: dict[str, Any] = vars(self)
        attached.update(record=record, cause=cause)
        return self

    @property
    def record(self) -> Record | None:
        """The job that the event is about, with its payload."""
        return self.__dict__.get("record")

    @property
    def cause(self) -> BaseException | None:
        """The exception that a `store_error`, a `failed` or a `retrying` attempt reports."""
        return self.__dict__.get("cause")


def from_row(row: EventRow) -> Event:
    """An event that a store recorded."""
    return Event(
        row.kind,
        at=to_datetime(row.at),
        job_id=row.job_id,
        chain_id=row.chain_id,
        type=row.type,
        attempt=row.attempt,
        worker=row.worker,
    )
