"""Operations on all shards: reads that are merged, and changes of what exists on every shard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.core.error_groups import MOST_GROUPS
from holdfast.engine.operations import (
    DrainWorker,
    DueSchedules,
    Examine,
    FindMarks,
    FoundMarks,
    GetAudit,
    GetErrors,
    GetLimits,
    GetSchedules,
    GetWaiting,
    GetWorkers,
    ListChains,
    Listen,
    ListJobs,
    Operation,
    Pause,
    ReadEvents,
    RemoveWorker,
    ReportWorker,
    Resume,
    SetLimit,
    Unlisten,
    WorkerReport,
)
from holdfast.errors import LimitNotFound, StoreUnavailable
from holdfast.stores.sharded import events, merging, paging
from holdfast.stores.sharded.findings import examine
from holdfast.stores.sharded.plan import Plan, all_of, available
from holdfast.stores.sharded.routing import Routing

_MERGES: dict[str, Callable[[Any], Any]] = {
    "get_stats": merging.stats,
    "get_counters": merging.counters,
}


def everywhere(routing: Routing, operation: Operation[Any], up: Sequence[str]) -> Plan[Any]:
    """The plan of an operation on all shards. `up` are the shards that answered lately."""
    names = routing.names
    match operation:
        case ListChains() | ListJobs():
            return paging.list_rows(routing, operation)
        case Listen():
            return events.listen(names, operation)
        case Unlisten():
            return events.unlisten(names, operation)
        case ReadEvents():
            return events.read_events(names, operation, up)
        case GetWorkers():
            # A worker reports itself to every shard.
            return _merged(names, operation, merging.workers, partly=True)
        case DueSchedules(limit=limit):
            return _merged(up, operation, lambda found: merging.schedules(found, limit), partly=True)
        case GetSchedules(names=wanted):
            return _get_schedules(routing, operation, wanted)
        case GetErrors(limit=limit):
            # A group may be frequent on all shards together and on none alone, so all groups are read.
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
        case ReportWorker():
            return _report_worker(names, operation)
        case Pause(types=types) | Resume(types=types):
            return _audited_once(routing, operation, "\0".join(types))
        case SetLimit():
            return _set_limit(routing, operation)
        case DrainWorker():
            return _drain_worker(_home_first(routing, operation.worker_id), operation)
        case RemoveWorker():
            return _nothing(names, operation)
        case _ if operation.verb == "declare_limits":
            return _nothing(names, operation)
        case _:
            return _merged(names, operation, _MERGES[operation.verb])


def _merged(
    names: Sequence[str], operation: Operation[Any], merge: Callable[[Any], Any], *, partly: bool = False
) -> Plan[Any]:
    answers = yield from (available if partly else all_of)(dict.fromkeys(names, operation))
    return merge(answers.values())


def _nothing(names: Sequence[str], operation: Operation[None]) -> Plan[None]:
    yield from all_of(dict.fromkeys(names, operation))


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


def _report_worker(names: Sequence[str], operation: ReportWorker) -> Plan[WorkerReport]:
    """A worker reports itself to each shard, so that it has the times of the shard. Here all have the same."""
    answers: dict[str, WorkerReport] = yield from available(dict.fromkeys(names, operation))
    reports = list(answers.values())
    return WorkerReport(min(each.started_at for each in reports), any(each.draining for each in reports))


def _audited_once(routing: Routing, operation: Operation[Any], about: str) -> Plan[Any]:
    """Change every shard. The entry of the audit is written on one."""
    home = routing.of_name(about)
    unaudited = replace(operation, audit=None)
    yield from all_of({name: operation if name == home else unaudited for name in routing.names})


def _home_first(routing: Routing, about: str) -> list[str]:
    """The shards, first the one that keeps the entry of the audit if it can."""
    home = routing.of_name(about)
    return [home, *(name for name in routing.names if name != home)]


def _set_limit(routing: Routing, operation: SetLimit) -> Plan[None]:
    """Set the number on the shards that know the limit. LimitNotFound if none does."""
    found, unknown = False, None
    for name in _home_first(routing, operation.name):
        try:
            yield from all_of({name: replace(operation, audit=None) if found else operation})
            found = True
        except LimitNotFound as error:
            unknown = error
    if unknown is not None and not found:
        raise unknown


def _drain_worker(names: Sequence[str], operation: DrainWorker) -> Plan[bool]:
    """Drain the worker on the shards that answer: it reads the flag on each. One entry of the audit is enough."""
    drained, answered, outage = False, False, None
    for name in names:
        try:
            answers = yield from all_of({name: replace(operation, audit=None) if drained else operation})
            drained, answered = drained or answers[name], True
        except StoreUnavailable as error:
            outage = error
    if outage is not None and not answered:
        raise outage
    return drained
