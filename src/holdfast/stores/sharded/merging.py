"""Merges the answers of all shards to one answer. Pure: no clock, no I/O."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from holdfast.core.counters import CounterReading, Counts, combined
from holdfast.core.error_groups import ErrorGroup, GroupedErrors
from holdfast.core.record import Status
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import AuditRow, FoundSchedules, LaneReport, LimitReport, TypeStats, Waiting
from holdfast.engine.operations.limits import HOLDERS_SHOWN

K = TypeVar("K", bound=Hashable)


def stats(answers: Iterable[Sequence[TypeStats]]) -> list[TypeStats]:
    """The sums per type. A type is paused if it is paused on every shard that knows it."""
    by_type: dict[str, list[TypeStats]] = {}
    for answer in answers:
        for row in answer:
            by_type.setdefault(row.type, []).append(row)
    return [_type_stats(name, rows) for name, rows in sorted(by_type.items())]


def _type_stats(name: str, rows: Sequence[TypeStats]) -> TypeStats:
    counts: dict[Status, int] = {}
    for row in rows:
        for status, number in row.counts.items():
            counts[status] = counts.get(status, 0) + number
    oldest = min((row.oldest_due for row in rows if row.oldest_due is not None), default=None)
    due, scheduled = sum(row.due for row in rows), sum(row.scheduled for row in rows)
    return TypeStats(name, counts, due, scheduled, oldest, all(row.paused for row in rows))


def counters(answers: Iterable[CounterReading]) -> CounterReading:
    """The sums per type and minute."""
    minutes: dict[tuple[str, int], list[Counts]] = {}
    totals: dict[str, list[Counts]] = {}
    now = 0
    for answer in answers:
        now = max(now, answer.now)
        for place, counts in answer.minutes.items():
            minutes.setdefault(place, []).append(counts)
        for type, counts in answer.totals.items():
            totals.setdefault(type, []).append(counts)
    return CounterReading(now, _sums(minutes), _sums(totals))


def _sums(parts: Mapping[K, Sequence[Counts]]) -> dict[K, Counts]:
    return {place: found[0] if len(found) == 1 else combined(found) for place, found in parts.items()}


def errors(answers: Iterable[Sequence[GroupedErrors]], limit: int) -> list[GroupedErrors]:
    """The groups with the most failures. A group has the same fingerprint on every shard."""
    groups: dict[tuple[str, str], GroupedErrors] = {}
    for answer in answers:
        for each in answer:
            place = (each.group.type, each.group.fingerprint)
            groups[place] = _both(groups[place], each) if place in groups else each
    most = sorted(groups.values(), key=lambda each: (-(each.failed + each.retried), -each.group.last_at))
    return most[:limit]


def _both(one: GroupedErrors, two: GroupedErrors) -> GroupedErrors:
    last = max(one.group, two.group, key=lambda group: group.last_at)
    first_at = min(one.group.first_at, two.group.first_at)
    group = ErrorGroup(last.fingerprint, last.type, last.summary, first_at, last.last_at, last.example)
    minutes = dict(one.minutes)
    for minute, number in two.minutes:
        minutes[minute] = minutes.get(minute, 0) + number
    return GroupedErrors(group, one.failed + two.failed, one.retried + two.retried, tuple(sorted(minutes.items())))


def audit(answers: Iterable[Sequence[AuditRow]], limit: int) -> list[AuditRow]:
    """The newest entries. The order of the entries of a shard stays."""
    rows = [row for answer in answers for row in answer]
    return sorted(rows, key=lambda row: -row.at)[:limit]


def limits(answers: Iterable[Sequence[LimitReport]], lanes: int) -> list[LimitReport]:
    """Limits by name. The number is that of each shard; running and waiting jobs are those of all shards."""
    by_name: dict[str, list[LimitReport]] = {}
    for answer in answers:
        for report in answer:
            by_name.setdefault(report.name, []).append(report)
    return [
        found[0]._replace(
            override=any(each.override for each in found),
            number=next((each.number for each in found if each.override), found[0].number),
            lanes=_lanes([lane for each in found for lane in each.lanes])[:lanes],
        )
        for _, found in sorted(by_name.items())
    ]


def _lanes(found: Iterable[LaneReport]) -> tuple[LaneReport, ...]:
    by_key: dict[str, LaneReport] = {}
    for lane in found:
        known = by_key.get(lane.key)
        if known is not None:
            lane = LaneReport(
                lane.key,
                known.number if known.override else lane.number,
                known.override or lane.override,
                known.running + lane.running,
                known.waiting + lane.waiting,
                (*known.holders, *lane.holders)[:HOLDERS_SHOWN],
            )
        by_key[lane.key] = lane
    return tuple(sorted(by_key.values(), key=lambda lane: -lane.waiting))


def workers(answers: Iterable[Sequence[WorkerRecord]]) -> list[WorkerRecord]:
    """Each worker once: it reports itself to every shard."""
    by_id: dict[str, WorkerRecord] = {}
    for answer in answers:
        for worker in answer:
            known = by_id.get(worker.id)
            by_id[worker.id] = worker if known is None else _same_worker(known, worker)
    return sorted(by_id.values(), key=lambda worker: (worker.started_at, worker.id))


def _same_worker(one: WorkerRecord, two: WorkerRecord) -> WorkerRecord:
    newest = max(one, two, key=lambda worker: worker.seen_at)
    return replace(
        newest,
        started_at=min(one.started_at, two.started_at),
        draining=one.draining or two.draining,
        busy=one.busy + two.busy,
    )


def schedules(answers: Iterable[FoundSchedules], limit: int | None = None) -> FoundSchedules:
    """Schedules sorted by name; with `limit`, in the order of the shards. Times are the earliest of all shards."""
    found = [*answers]
    now = min((each.now for each in found), default=0)
    waits = [each.wait for each in found if each.wait is not None]
    rows = [row for each in found for row in each.schedules]
    if limit is None:
        rows.sort(key=lambda row: row.name)
    return FoundSchedules(now, rows[:limit], min(waits, default=None))


def waiting(answers: Iterable[Sequence[Waiting]], limit: int) -> list[Waiting]:
    """Blocked chains. Chains that wait for each other lie on one shard."""
    return [each for answer in answers for each in answer][:limit]
