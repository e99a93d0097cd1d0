"""Procedures that read and change schedules. A change is repeated if another caller changed the schedule meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final, NamedTuple

from msgspec import structs

from holdfast.client.new_jobs import new_chain
from holdfast.core.clock import Micros, to_datetime
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import ChainRecord
from holdfast.core.schedule import (
    ScheduleDeclaration,
    ScheduleRecord,
    changed_record,
    fire_id,
    first_job,
    new_record,
    read,
    tick_id,
    write,
)
from holdfast.core.ticks import MAX_UNFINISHED, handle_ticks
from holdfast.engine.operations import Audit, ChangeSchedule, FoundSchedules, GetChains, GetSchedules, Started
from holdfast.engine.procedures import Procedure
from holdfast.errors import Conflict, ScheduleNotFound
from holdfast.registry.schedules import DeclaredSchedule

TRIES: Final = 100
BACKFILL_BATCH: Final = 50
BACKFILL_LIMIT: Final = 10_000


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """A change of a schedule: its new record, or None to delete it, and the chains to start with it."""

    record: ScheduleRecord | None
    starts: Sequence[NewJob] = ()


class Author(NamedTuple):
    """The name of a change in the audit, and the user that makes it."""

    action: str = ""
    audit: Audit | None = None


NO_OPERATOR: Final = Author()
"""A change that is not made by an operator."""

Decide = Callable[[ScheduleRecord | None, Micros], ScheduleChange | None]
"""Receives the current record, None if there is none, and the time of the store. Returns None to change nothing."""


def declaration_of(declared: DeclaredSchedule) -> ScheduleDeclaration:
    """What the store keeps of a declared schedule."""
    job = structs.replace(new_chain(declared.bound), id="", chain_id="")
    return ScheduleDeclaration(
        declared.name, declared.rule, job, declared.overlap, declared.missed, declared.within, declared.jitter
    )


def write_change(
    record: ScheduleRecord | None,
    name: str,
    expected: str | None,
    starts: Sequence[NewJob] = (),
    *,
    announce: bool = True,
    wait: bool = True,
    by: Author = NO_OPERATOR,
) -> ChangeSchedule:
    """The operation that writes a record, or deletes the schedule if it is None."""
    if record is None:
        return ChangeSchedule(name, expected, new_token(), starts=tuple(starts), action=by.action, audit=by.audit)
    return ChangeSchedule(
        name, expected, new_token(), record.declaration.job.type, write(record), record.ticks_at, tuple(starts),
        announce=announce, wait=wait, action=by.action, audit=by.audit,
    )  # fmt: skip


def change(
    name: str, decide: Decide, *, by: Author = NO_OPERATOR
) -> Procedure[tuple[ScheduleRecord | None, list[Started]]]:
    """Change a schedule. Returns its record afterwards, and the started chains."""
    for _ in range(TRIES):
        found: FoundSchedules = yield GetSchedules((name,))
        stored = found.schedules[0] if found.schedules else None
        record = None if stored is None else read(stored.body)
        wanted = decide(record, found.now)
        if wanted is None:
            return record, []
        expected = None if stored is None else stored.version
        started: list[Started] | None = yield write_change(wanted.record, name, expected, wanted.starts, by=by)
        if started is not None:
            return wanted.record, started
    raise Conflict(f"schedule {name!r} was changed by others {TRIES} times at the same time; try again")


def put(declared: DeclaredSchedule) -> Procedure[ScheduleRecord]:
    """Create a schedule at run time, or change it. ValueError if a registry declares it."""
    declaration = declaration_of(declared)

    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange:
        if record is None:
            return ScheduleChange(new_record(declaration, now))
        if record.registry is not None and not record.orphaned:
            raise ValueError(
                f"schedule {record.name!r} is declared by the registry {record.registry!r}: change its declaration, or "
                "choose another name"
            )
        return ScheduleChange(structs.replace(changed_record(record, declaration, now), registry=None, declared_by={}))

    record, _ = yield from change(declared.name, decide)
    assert record is not None, "the change wrote a record"
    return record


def remove(name: str, audit: Audit | None) -> Procedure[None]:
    """Delete a schedule. ValueError if a registry declares it."""
    tried = False

    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange | None:
        nonlocal tried
        if record is None:
            if tried:  # an earlier try deleted it, and its answer was lost
                return None
            raise ScheduleNotFound(name)
        if record.registry is not None and not record.orphaned:
            raise ValueError(
                f"schedule {name!r} is declared by the registry {record.registry!r}, so its workers would create it "
                "again: remove the declaration, or pause the schedule"
            )
        tried = True
        return ScheduleChange(None)

    yield from change(name, decide, by=Author("unschedule", audit))


def pause(name: str, reason: str | None, audit: Audit | None) -> Procedure[ScheduleRecord]:
    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange | None:
        record = _needed(name, record)
        if record.paused and record.reason == reason:
            return None
        return ScheduleChange(structs.replace(record, paused=True, reason=reason))

    return (yield from _changed(name, decide, Author("pause_schedule", audit)))


def resume(name: str, audit: Audit | None) -> Procedure[ScheduleRecord]:
    """Resume a schedule. Ticks that came during the pause are counted as skipped."""

    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange | None:
        record = _needed(name, record)
        if not record.paused:
            return None
        while record.next_at <= now and not record.orphaned:
            record = handle_ticks(record, now, dict.fromkeys(record.unfinished, False)).record
        return ScheduleChange(structs.replace(record, paused=False, reason=None))

    return (yield from _changed(name, decide, Author("resume_schedule", audit)))


def fire(name: str, audit: Audit | None) -> Procedure[Started]:
    """Start a chain now. Neither a pause nor the overlap policy prevents it."""

    def decide(record: ScheduleRecord | None, now: Micros) -> ScheduleChange:
        record = _needed(name, record)
        job = first_job(record.declaration, fire_id(name, now), now)
        job = structs.replace(job, at=None, delay=record.declaration.job.delay)
        tracked = record.declaration.overlap != "allow"
        unfinished = (*record.unfinished, job.id)[-MAX_UNFINISHED:] if tracked else ()
        counts = record.counts._replace(started=record.counts.started + 1)
        changed = structs.replace(record, last_tick=now, last_chain=job.id, unfinished=unfinished, counts=counts)
        return ScheduleChange(changed, [job])

    _, (started,) = yield from change(name, decide, by=Author("fire", audit))
    return started


def backfill(name: str, since: Micros, until: Micros, audit: Audit | None) -> Procedure[list[Started]]:
    """Start the chains of past ticks that do not exist yet."""
    if until < since:
        raise ValueError("until must not be earlier than since")
    found: FoundSchedules = yield GetSchedules((name,))
    record = _needed(name, read(found.schedules[0].body) if found.schedules else None)
    if until > found.now:
        raise ValueError(
            f"until lies in the future: a backfill starts past ticks, and it is {to_datetime(found.now).isoformat()}"
        )
    ticks = list(islice(takewhile(lambda tick: tick < until, record.ticks(since - 1)), BACKFILL_LIMIT + 1))
    if len(ticks) > BACKFILL_LIMIT:
        raise ValueError(f"there are more than {BACKFILL_LIMIT:,} ticks in this time: backfill it in parts")
    started: list[Started] = []
    for first in range(0, len(ticks), BACKFILL_BATCH):
        batch = ticks[first : first + BACKFILL_BATCH]
        existing: list[ChainRecord | None] = yield GetChains(tuple(tick_id(name, tick) for tick in batch))
        new = [tick for tick, chain in zip(batch, existing, strict=True) if chain is None]
        if new:
            by = NO_OPERATOR if started else Author("backfill", audit)  # one entry for all batches
            started += yield from _backfill(name, new, by)
    return [each for each in started if not each.deduplicated]


def _backfill(name: str, ticks: Sequence[Micros], by: Author) -> Procedure[list[Started]]:
    """One batch. The number of new chains is known after the start, so it is counted in a second change."""

    def begin(record: ScheduleRecord | None, now: Micros) -> ScheduleChange:
        record = _needed(name, record)
        return ScheduleChange(record, [first_job(record.declaration, tick_id(name, tick), tick) for tick in ticks])

    _, started = yield from change(name, begin, by=by)
    new = sum(not each.deduplicated for each in started)

    def count(record: ScheduleRecord | None, now: Micros) -> ScheduleChange | None:
        if record is None or not new:
            return None
        counts = record.counts._replace(started=record.counts.started + new)
        return ScheduleChange(structs.replace(record, counts=counts))

    yield from change(name, count)
    return started


def _changed(name: str, decide: Decide, by: Author) -> Procedure[ScheduleRecord]:
    record, _ = yield from change(name, decide, by=by)
    assert record is not None, "the schedule exists"
    return record


def _needed(name: str, record: ScheduleRecord | None) -> ScheduleRecord:
    if record is None:
        raise ScheduleNotFound(name)
    return record
