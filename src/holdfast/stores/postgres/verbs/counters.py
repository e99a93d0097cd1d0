"""Read the counters and the error groups, and add up their changes."""

from __future__ import annotations

from holdfast.core.counters import TOTAL, CounterChange, CounterReading
from holdfast.core.error_groups import OTHER, GroupedErrors
from holdfast.engine.operations import GetCounters, GetErrors
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql import counting
from holdfast.stores.sql.plan import Many, Row, Statement

_MOMENT = SQL["moment"]
_GET_COUNTERS = SQL["get_counters"]
_GET_ERRORS = SQL["get_errors"]
_DUE = SQL["counters_due"]
_TAKE_CHANGES = SQL["take_changes"]
_TAKE_TALLY = SQL["take_tally"]
_COUNTS_OF = SQL["counts_of"]
_GROUPS = SQL["error_groups"]
_ERROR_COUNTS_OF = SQL["error_counts_of"]
_WRITE_COUNTS = SQL["write_counts"]
_WRITE_GROUP = SQL["write_error_group"]
_WRITE_ERROR_COUNT = SQL["write_error_count"]
_FORGET = SQL["forget_counts"]


def get_counters(context: PlanContext, op: GetCounters) -> Plan[CounterReading]:
    ((now, _),) = yield Statement(_MOMENT, {"now": context.clock})
    sums: list[Row] = []
    changes: list[Row] = []
    for row, *columns, kind in (yield Statement(_GET_COUNTERS, {"first": counting.first(now, op)})):
        if row == "sum":
            sums.append(tuple(columns))
        else:
            minute, type, number, *_, waits, wait_total, runs, run_total = columns
            changes.append((type, minute, kind, number, waits, runs, wait_total, run_total))
    return counting.counters(now, op, sums, changes)


def get_errors(context: PlanContext, op: GetErrors) -> Plan[list[GroupedErrors]]:
    ((now, _),) = yield Statement(_MOMENT, {"now": context.clock})
    groups: list[Row] = []
    numbers: list[Row] = []
    changes: list[Row] = []
    for row, *columns in (yield Statement(_GET_ERRORS, {"first": counting.first(now, op)})):
        fingerprint, type, summary, first, second, example, minute, kind = columns
        if row == "group":
            groups.append(tuple(columns[:6]))
        elif row == "number":
            numbers.append((minute, fingerprint, first, second))
        else:
            changes.append((type, minute, kind, first, None, None, 0, 0, fingerprint, summary, example, second))
    return counting.errors(now, op, groups, numbers, changes)


def add_up(context: PlanContext) -> Plan[None]:
    """Add up the changes, if there are many, and remove counts that are too old."""
    if not (yield Statement(_DUE, {"many": counting.ADDED_UP_AT})):
        return
    changes = [CounterChange(*row) for row in (yield Statement(_TAKE_CHANGES, {"limit": counting.BATCH}))]
    changes += [CounterChange(*row) for row in (yield Statement(_TAKE_TALLY, {"many": counting.ADDED_UP_AT}))]
    types, minutes = counting.places(changes)
    counts = yield Statement(_COUNTS_OF, {"types": types, "minutes": minutes})
    groups: list[Row] = []
    numbers: list[Row] = []
    fingerprints = {change.fingerprint for change in changes if change.fingerprint is not None}
    if fingerprints:
        groups = yield Statement(_GROUPS)
        numbers = yield Statement(
            _ERROR_COUNTS_OF, {"fingerprints": [OTHER, *fingerprints], "minutes": [TOTAL, *minutes]}
        )
    added = counting.added_up(changes, counts, groups, numbers)
    yield Many(_WRITE_COUNTS, added.counts)
    if fingerprints:
        yield Many(_WRITE_GROUP, added.groups)
        yield Many(_WRITE_ERROR_COUNT, added.occurrences)
    yield Statement(_FORGET, counting.oldest_kept(context.now))
