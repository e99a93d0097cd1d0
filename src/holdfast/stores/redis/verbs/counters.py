"""Read the counters and the error groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
    reading,
)
from holdfast.core.error_groups import ErrorGroup, GroupedErrors, Occurrences, add_failures, most_frequent
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.encode import number
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan

_decode = msgspec.msgpack.decode


def get_counters(op: ops.GetCounters) -> ScriptPlan[CounterReading]:
    ((now, first, started, changes, totals, *minutes),) = yield [_call("get_counters", op.since, op.last)]
    before = dict(_sums(TOTAL, totals))
    for minute, sums in _pairs(minutes):
        before.update(_sums(int(minute), sums))
    appended = [*_started(started), *(CounterChange(*_decode(each)) for each in changes)]
    return reading(int(now), before | add_up(appended, before), int(first))


def get_errors(op: ops.GetErrors) -> ScriptPlan[list[GroupedErrors]]:
    ((_, first, groups, changes, *minutes),) = yield [_call("get_errors", op.since, op.last)]
    known: dict[str, ErrorGroup] = {}
    counted: Occurrences = {}
    for name, stored in _pairs(groups):
        type, summary, first_at, last_at, example, failed, retried = _decode(stored)
        fingerprint = name.decode()
        known[fingerprint] = ErrorGroup(fingerprint, type, summary, int(first_at), int(last_at), example)
        counted[fingerprint, TOTAL] = failed, retried
    for minute, numbers in _pairs(minutes):
        for name, stored in _pairs(numbers):
            failed, retried = _decode(stored)
            counted[name.decode(), int(minute)] = failed, retried
    new_groups, new_counted = add_failures((CounterChange(*_decode(each)) for each in changes), known, counted)
    ever = op.since is None and op.last is None
    return most_frequent(
        known | new_groups,
        counted | new_counted,
        first=None if ever else int(first),
        types=op.types,
        limit=op.limit,
    )


def _call(script: str, since: Micros | None, last: Micros | None) -> ScriptCall:
    return ScriptCall(script, (number(since) or False, number(last) or False, KEPT_MINUTES))


def _started(fields: Sequence[bytes]) -> Iterator[CounterChange]:
    for name, jobs in _pairs(fields):
        minute, _, type = name.decode().partition(":")
        yield CounterChange(type, int(minute), "started", int(jobs))


def _sums(minute: int, fields: Sequence[bytes]) -> Iterator[tuple[Place, Counts]]:
    for type, stored in _pairs(fields):
        values = [int(value) for value in _decode(stored)]
        numbers, wait_total, run_total = values[: len(KINDS)], values[len(KINDS)], values[len(KINDS) + 1]
        waits, runs = values[len(KINDS) + 2 :][:BUCKETS], values[-BUCKETS:]
        counts = Counts.of(numbers, Histogram(tuple(waits), wait_total), Histogram(tuple(runs), run_total))
        yield (type.decode(), minute), counts


def _pairs(fields: Sequence[Any]) -> Iterator[tuple[bytes, Any]]:
    values = iter(fields)
    return zip(values, values, strict=True)
