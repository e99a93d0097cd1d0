"""Reads from all shards: the answers of the shards are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.core.error_groups import MOST_GROUPS
from holdfast.engine.operations import (
    DueSchedules,
    Examine,
    FindMarks,
    FoundMarks,
    GetAudit,
    GetCounters,
    GetErrors,
    GetLimits,
    GetSchedules,
    GetStats,
    GetWaiting,
    GetWorkers,
    ListChains,
    ListJobs,
    Operation,
    ReadEvents,
)
from holdfast.stores.sharded import events, merging, paging
from holdfast.stores.sharded.findings import examine
from holdfast.stores.sharded.plan import Plan, all_of, available
from holdfast.stores.sharded.routing import Routing


def read_all(routing: Routing, operation: Operation[Any], up: Sequence[str]) -> Plan[Any]:
    """The plan of a read from all shards. `up` are the shards that answered lately."""
    names = routing.names
    match operation:
        case ListChains() | ListJobs():
            return paging.list_rows(routing, operation)
        case ReadEvents():
            return events.read_events(names, operation, up)
        case GetStats():
            return _merged(names, operation, merging.stats)
        case GetCounters():
            return _merged(names, operation, merging.counters)
        case GetWorkers():
            # A worker reports itself to every shard.
            return _merged_available(names, operation, merging.workers)
        case DueSchedules(limit=limit):
            return _merged_available(up, operation, lambda found: merging.schedules(found, limit))
        case GetSchedules(names=wanted):
            return _get_schedules(routing, operation, wanted)
        case GetErrors(limit=limit):
            # A group may be frequent on all shards together and rare on each of them, so all groups are read.
            every = replace(operation, limit=MOST_GROUPS + 1)
            return _merged(names, every, lambda found: merging.errors(found, limit))
        case GetAudit(limit=limit):
            return _merged(names, operation, lambda found: merging.audit(found, limit))
        case GetLimits(lanes=lanes):
            return _merged(names, operation, lambda found: merging.limits(found, lanes))
        case GetWaiting(limit=limit):
            return _merged(names, operation, lambda found: merging.waiting(found, limit))
        case Examine():
            return examine(routing, operation)
        case FindMarks():
            return _find_marks(names, operation)
        case _:
            raise KeyError(operation.verb)


def _merged(names: Sequence[str], operation: Operation[Any], merge: Callable[[Any], Any]) -> Plan[Any]:
    answers = yield from all_of(dict.fromkeys(names, operation))
    return merge(answers.values())


def _merged_available(names: Sequence[str], operation: Operation[Any], merge: Callable[[Any], Any]) -> Plan[Any]:
    """Merge the answers of the shards that answer."""
    answers = yield from available(dict.fromkeys(names, operation))
    return merge(answers.values())


def _get_schedules(routing: Routing, operation: GetSchedules, wanted: tuple[str, ...] | None) -> Plan[Any]:
    if wanted is None:
        return (yield from _merged(routing.names, operation, merging.schedules))
    parts: dict[str, list[str]] = {}
    for name in wanted:
        parts.setdefault(routing.of_schedule(name), []).append(name)
    asked = {shard: replace(operation, names=tuple(names)) for shard, names in parts.items()}
    answers = yield from all_of(asked or {routing.names[0]: operation})
    return merging.schedules(answers.values())


def _find_marks(names: Sequence[str], operation: FindMarks) -> Plan[FoundMarks]:
    found = yield dict.fromkeys(names, operation)
    # A shard that cannot join a transaction of the application has no marks, and does not know the verb.
    answers: dict[str, FoundMarks] = {name: each for name, each in found.items() if not isinstance(each, KeyError)}
    for each in answers.values():
        if isinstance(each, Exception):
            raise each
    ids = [id for found in answers.values() for id in found.ids]
    return FoundMarks(ids, all(found.final for found in answers.values()))
