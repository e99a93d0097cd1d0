"""The counters of a SQL store: appended changes, and the tables in which they are added up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from holdfast.core.clock import Micros
from holdfast.core.counters import (
    BUCKETS,
    KEPT_MINUTES,
    KINDS,
    TOTAL,
    CounterChange,
    CounterReading,
    Counts,
    Histogram,
    Place,
    add_up,
    first_minute,
    minute_of,
    reading,
)
from holdfast.core.error_groups import KEPT, ErrorGroup, GroupedErrors, Occurrences, add_failures, most_frequent
from holdfast.engine.operations import GetCounters, GetErrors
from holdfast.stores.sql.plan import Row

ADDED_UP_AT = 200
"""Pruning adds up the changes if there are at least this many."""
BATCH: Final = 20_000
"""Changes that one prune adds up at most."""

_NONE = "[" + ",".join("0" * BUCKETS) + "]"


class AddedUp(NamedTuple):
    """The rows to write after changes were added up."""

    counts: list[dict[str, Any]]
    groups: list[dict[str, Any]]
    occurrences: list[dict[str, Any]]


def added_up(
    changes: list[CounterChange], counts: Iterable[Row], groups: Iterable[Row], occurrences: Iterable[Row]
) -> AddedUp:
    """Add changes to the rows of the tables `counter`, `error_group` and `error_count`."""
    changed = add_up(changes, dict(map(read_counts, counts)))
    known = {row[0]: ErrorGroup(*row) for row in groups}
    groups_after, counted = add_failures(changes, known, read_occurrences(occurrences))
    return AddedUp(
        [_counts_row(place, each) for place, each in changed.items()],
        [group._asdict() for group in groups_after.values()],
        [
            {"fingerprint": fingerprint, "minute": minute, "failed": failed, "retried": retried}
            for (fingerprint, minute), (failed, retried) in counted.items()
        ],
    )


def places(changes: Iterable[CounterChange]) -> tuple[list[str], list[int]]:
    """The types and the minutes whose counts these changes change."""
    changes = list(changes)
    return list({change.type for change in changes}), [TOTAL, *{change.minute for change in changes}]


def oldest_kept(now: Micros) -> dict[str, int]:
    """The parameters of the statements that remove old counts."""
    return {"oldest": minute_of(now) - KEPT_MINUTES + 1, "since": now - KEPT}


def counters(now: Micros, op: GetCounters, counts: Iterable[Row], changes: Iterable[Row]) -> CounterReading:
    """The reading from the rows of the table and the changes that were not added up yet."""
    before = dict(map(read_counts, counts))
    after = before | add_up((CounterChange(*row) for row in changes), before)
    return reading(now, after, first(now, op))


def errors(
    now: Micros, op: GetErrors, groups: Iterable[Row], occurrences: Iterable[Row], changes: Iterable[Row]
) -> list[GroupedErrors]:
    """The most frequent groups from the rows of the tables and the changes that were not added up yet."""
    known = {row[0]: ErrorGroup(*row) for row in groups}
    counted: Occurrences = read_occurrences(occurrences)
    new_groups, new_counted = add_failures((CounterChange(*row) for row in changes), known, counted)
    ever = op.since is None and op.last is None
    return most_frequent(
        known | new_groups,
        counted | new_counted,
        first=None if ever else first(now, op),
        types=op.types,
        limit=op.limit,
    )


def first(now: Micros, op: GetCounters | GetErrors) -> int:
    return first_minute(now, since=op.since, last=op.last)


def read_counts(row: Row) -> tuple[Place, Counts]:
    """A row of `counter`: minute, type, a number per kind, then two histograms with their totals."""
    minute, type, *rest = row
    numbers, (waits, wait_total, runs, run_total) = rest[: len(KINDS)], rest[len(KINDS) :]
    return (type, minute), Counts.of(numbers, _histogram(waits, wait_total), _histogram(runs, run_total))


def read_occurrences(rows: Iterable[Row]) -> Occurrences:
    return {(fingerprint, minute): (failed, retried) for minute, fingerprint, failed, retried in rows}


def _histogram(counts: str, total: int) -> Histogram:
    return Histogram(total=total) if counts == _NONE else Histogram(_decoder.decode(counts), total)


_decoder = msgspec.json.Decoder(tuple[int, ...])


def _counts_row(place: Place, counts: Counts) -> dict[str, Any]:
    type, minute = place
    return {
        "minute": minute,
        "type": type,
        **{kind: getattr(counts, kind) for kind in KINDS},
        "waits": msgspec.json.encode(counts.waits.counts).decode(),
        "wait_total": counts.waits.total,
        "runs": msgspec.json.encode(counts.runs.counts).decode(),
        "run_total": counts.runs.total,
    }
