"""Changes of what exists on every shard: workers, limits, listeners, and the types that are paused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.engine.operations import (
    DeclareLimits,
    DrainWorker,
    Listen,
    Operation,
    Pause,
    RemoveWorker,
    ReportWorker,
    Resume,
    SetLimit,
    Unlisten,
    WorkerReport,
)
from holdfast.errors import LimitNotFound, StoreUnavailable
from holdfast.stores.sharded import events
from holdfast.stores.sharded.plan import Plan, all_of, available
from holdfast.stores.sharded.routing import Routing


def change_all(routing: Routing, operation: Operation[Any]) -> Plan[Any]:
    """The plan of a change of all shards."""
    names = routing.names
    match operation:
        case Listen():
            return events.listen(names, operation)
        case Unlisten():
            return events.unlisten(names, operation)
        case ReportWorker():
            return _report_worker(names, operation)
        case DrainWorker():
            return _drain_worker(_home_first(routing, operation.worker_id), operation)
        case Pause(types=types) | Resume(types=types):
            return _audited_once(routing, operation, "\0".join(types))
        case SetLimit():
            return _set_limit(routing, operation)
        case RemoveWorker() | DeclareLimits():
            return _on_each(names, operation)
        case _:
            raise KeyError(operation.verb)


def _report_worker(names: Sequence[str], operation: ReportWorker) -> Plan[WorkerReport]:
    """Report a worker to all shards. The answer has the earliest time; a `Worker` reports to each shard separately."""
    answers: dict[str, WorkerReport] = yield from available(dict.fromkeys(names, operation))
    reports = list(answers.values())
    return WorkerReport(min(each.started_at for each in reports), any(each.draining for each in reports))


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


def _home_first(routing: Routing, about: str) -> list[str]:
    """All shards. The first one is the shard that should keep the entry of the audit."""
    home = routing.of_name(about)
    return [home, *(name for name in routing.names if name != home)]


def _audited_once(routing: Routing, operation: Operation[Any], about: str) -> Plan[Any]:
    """Change every shard. The entry of the audit is written on one."""
    home = routing.of_name(about)
    unaudited = replace(operation, audit=None)
    yield from all_of({name: operation if name == home else unaudited for name in routing.names})


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


def _on_each(names: Sequence[str], operation: Operation[None]) -> Plan[None]:
    yield from all_of(dict.fromkeys(names, operation))
