"""Counters: append the changes of an operation, add them up, and read them with the error groups."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.counters import CounterChange, CounterReading
from holdfast.core.error_groups import GroupedErrors
from holdfast.engine.operations import GetCounters, GetErrors
from holdfast.stores.sql import counting
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Row, Statement
from holdfast.stores.sqlite.rows import SQL, as_json

_APPEND = SQL["append_change"]
_CHANGES = SQL["changes"]
_STARTED = SQL["started"]
_DUE = SQL["counters_due"]
_DELETE_CHANGES = SQL["delete_changes"]
_ADD_UP_TALLY = SQL["add_up_tally"]
_DELETE_TALLY = SQL["delete_tally"]
_COUNTS = SQL["counts"]
_COUNTS_OF = SQL["counts_of"]
_GROUPS = SQL["error_groups"]
_ERROR_COUNTS = SQL["error_counts"]
_WRITE_COUNTS = SQL["write_counts"]
_WRITE_GROUP = SQL["write_error_group"]
_WRITE_ERROR_COUNT = SQL["write_error_count"]
_FORGET_COUNTS = SQL["forget_counts"]
_FORGET_GROUPS = SQL["forget_groups"]
_FORGET_ERROR_COUNTS = SQL["forget_error_counts"]

_ALL = -1
"""A limit that includes every row."""


def append(changes: Iterable[CounterChange]) -> Many:
    """The statement that appends the changes of an operation."""
    return Many(_APPEND, changes)


def get_counters(context: PlanContext, operation: GetCounters) -> Plan[CounterReading]:
    counts = yield Statement(_COUNTS, {"first": counting.first(context.now, operation)})
    changes = yield from _changes()
    return counting.counters(context.now, operation, counts, changes)


def get_errors(context: PlanContext, operation: GetErrors) -> Plan[list[GroupedErrors]]:
    groups = yield Statement(_GROUPS)
    numbers = yield Statement(_ERROR_COUNTS, {"first": counting.first(context.now, operation)})
    changes = yield from _changes()
    return counting.errors(context.now, operation, groups, numbers, changes)


def add_up(context: PlanContext) -> Plan[None]:
    """Add up appended changes, if there are many, and remove what is too old."""
    [(due,)] = yield Statement(_DUE, {"many": counting.ADDED_UP_AT})
    if not due:
        return
    rows = yield Statement(_CHANGES, {"limit": counting.BATCH})
    started = [CounterChange(*row) for row in (yield Statement(_STARTED))]
    changes = [CounterChange(*row[:-1]) for row in rows] + started
    types, minutes = counting.places(changes)
    counts = yield Statement(_COUNTS_OF, {"types": as_json(types), "minutes": as_json(minutes)})
    groups = yield Statement(_GROUPS)
    numbers = yield Statement(_ERROR_COUNTS, {"first": min(minutes[1:], default=0)})
    added = counting.added_up(changes, counts, groups, numbers)
    yield Many(_WRITE_COUNTS, added.counts)
    yield Many(_WRITE_GROUP, added.groups)
    yield Many(_WRITE_ERROR_COUNT, added.occurrences)
    if rows:
        yield Statement(_DELETE_CHANGES, {"seq": rows[-1][-1]})
    yield Many(_ADD_UP_TALLY, [{"type": change.type, "jobs": change.number} for change in started])
    yield Statement(_DELETE_TALLY)
    oldest = counting.oldest_kept(context.now)
    yield Statement(_FORGET_COUNTS, {"oldest": oldest["oldest"]})
    yield Statement(_FORGET_GROUPS, {"since": oldest["since"]})
    yield Statement(_FORGET_ERROR_COUNTS, {"oldest": oldest["oldest"]})


def _changes() -> Plan[list[Row]]:
    rows = yield Statement(_CHANGES, {"limit": _ALL})
    return [row[:-1] for row in rows] + (yield Statement(_STARTED))
