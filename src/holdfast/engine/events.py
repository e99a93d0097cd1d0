"""Events: what happened, for observers in this process and for listeners of the store.

Job events: created, replaced (it took the input of a later start), unblocked, claimed, started, renewed, progressed,
completed, continued, retrying (an attempt failed, another will follow), mismatched (the worker could not read the
input; another worker may), rescheduled, released, suspended (it sleeps or waits for a message), failed, cancelled,
reaped (its lease expired), lost (the claim of this worker no longer holds), retried (by an operator), hurried, deleted.
Process events, from the supervisor: scaled, process_started, process_ready, process_draining, process_ended,
process_died, reloaded.
Worker events: worker_started, worker_stopping, worker_stopped, woken, store_error.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

import msgspec

from holdfast.core.clock import to_datetime
from holdfast.core.failure import ErrorText
from holdfast.core.record import Record
from holdfast.engine.operations import EventRow


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
