"""Get counters and error groups."""

from __future__ import annotations

from holdfast.core.counters import CounterReading, first_minute, reading
from holdfast.core.error_groups import GroupedErrors, most_frequent
from holdfast.engine.operations import GetCounters, GetErrors
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State


def get_counters(state: State, op: GetCounters) -> CounterReading:
    counting.add_up(state)
    now = state.now()
    return reading(now, state.counts, first_minute(now, since=op.since, last=op.last))


def get_errors(state: State, op: GetErrors) -> list[GroupedErrors]:
    counting.add_up(state)
    ever = op.since is None and op.last is None
    first = None if ever else first_minute(state.now(), since=op.since, last=op.last)
    return most_frequent(state.groups, state.occurrences, first=first, types=op.types, limit=op.limit)
