"""Collapsing starts: a start that changes a chain which has not begun, instead of creating another one.

A chain whose first job has stored a step has begun: its steps belong to its input.
"""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.details import epoch_of, read_details, write_details
from holdfast.core.lifecycle import NewJob, create
from holdfast.core.record import Record, Status


def replaces(job: NewJob, found: str | None) -> bool:
    """Whether a start changes the chain that it found. A chain found by the id of the job is returned unchanged."""
    return job.dedup == "waiting" and found is not None and found != job.id


def may_replace(record: Record, job: NewJob) -> bool:
    """Whether the first job of a chain has not begun, or waits for another attempt, and has the key of the start."""
    same_key = record.index == 0 and (record.type, record.key) == (job.type, job.key)
    return same_key and record.status in (Status.PENDING, Status.BLOCKED)


def counted_since(record: Record, now: Micros, debounced_at: Micros | None = None) -> Micros:
    """The time from which `debounce_max` counts: the creation of the chain, or its first start after an attempt."""
    if record.attempt:
        return now
    return record.created_at if debounced_at is None else debounced_at


def new_details(record: Record, job: NewJob) -> str | None:
    """The details of a replaced chain. After an attempt its epoch is increased: its steps get other ids."""
    epoch = epoch_of(record.details) + (record.started_at is not None)
    if epoch == 0:
        return job.details
    return write_details(replace(read_details(job.details), epoch=epoch))


def replaced(
    record: Record, job: NewJob, now: Micros, *, since: Micros, status: Status = Status.PENDING, open_blockers: int = 0
) -> Record:
    """The first job of a chain with the input and the options of another start. It has all of its attempts again."""
    new = create(job, now, record.seq, status=status, open_blockers=open_blockers)
    due = new.scheduled_at if job.due_within is None else max(now, min(new.scheduled_at, since + job.due_within))
    return replace(
        new,
        id=record.id,
        chain_id=record.chain_id,
        created_at=record.created_at,
        scheduled_at=due,
        details=new_details(record, job),
        # A settlement that is sent again is recognised by its token.
        token=record.token,
    )
