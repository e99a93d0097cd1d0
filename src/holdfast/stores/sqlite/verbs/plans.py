"""The plan of each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from holdfast.engine.operations import Operation
from holdfast.stores.sql.plan import Plan, PlanContext
from holdfast.stores.sqlite.verbs import (
    attempts,
    audit,
    cancel,
    claim,
    complete,
    counters,
    delete,
    dependencies,
    events,
    examine,
    explain,
    get,
    guard,
    keep,
    limits,
    list_jobs,
    logs,
    marks,
    next_due,
    pause,
    progress,
    prune,
    reap,
    renew,
    retry,
    run_now,
    schedules,
    settle,
    start,
    stats,
    steps,
    workers,
)

R = TypeVar("R")

Verb = Callable[[PlanContext, Any], Plan[Any]]

VERBS: dict[str, Verb] = {
    "start": start.start,
    "preview": start.preview,
    "claim": claim.claim,
    "renew": renew.renew,
    "guard": guard.guard,
    "progress": progress.progress,
    "save_logs": logs.save_logs,
    "reap": reap.reap,
    "settle": settle.settle,
    "lock": complete.lock,
    "complete": complete.complete,
    "cancel": cancel.cancel,
    "retry": retry.retry,
    "run_now": run_now.run_now,
    "pause": pause.pause,
    "resume": pause.resume,
    "keep": keep.keep,
    "delete": delete.delete,
    "prune": prune.prune,
    "get_chains": get.get_chains,
    "get_jobs": get.get_jobs,
    "get_blockers": get.get_blockers,
    "get_dependents": get.get_dependents,
    "get_started": get.get_started,
    "get_history": attempts.get_history,
    "get_stats": stats.get_stats,
    "get_audit": audit.get_audit,
    "get_counters": counters.get_counters,
    "get_errors": counters.get_errors,
    "declare_limits": limits.declare_limits,
    "set_limit": limits.set_limit,
    "get_limits": limits.get_limits,
    "get_lanes": limits.get_lanes,
    "skip": limits.skip,
    "next_due": next_due.next_due,
    "list_chains": list_jobs.list_chains,
    "list_jobs": list_jobs.list_jobs,
    "listen": events.listen,
    "unlisten": events.unlisten,
    "read_events": events.read_events,
    "examine": examine.examine,
    "mark": marks.mark,
    "find_marks": marks.find_marks,
    "get_waiting": dependencies.get_waiting,
    "report_worker": workers.report_worker,
    "remove_worker": workers.remove_worker,
    "drain_worker": workers.drain_worker,
    "get_workers": workers.get_workers,
    "explain": explain.explain,
    "get_schedules": schedules.get_schedules,
    "due_schedules": schedules.due_schedules,
    "change_schedule": schedules.change_schedule,
    "save_steps": steps.save_steps,
    "get_steps": steps.get_steps,
    "get_messages": steps.get_messages,
    "send": steps.send,
}


_READ_LISTENERS = (start.start, settle.settle)
"""Verbs that read whether a listener is registered together with the other things that they need."""


def plan(operation: Operation[R], context: PlanContext) -> Plan[R]:
    """The plan of an operation: its verb, and the events that it records."""
    verb = VERBS[operation.verb]
    if not operation.writes:
        return cast(R, (yield from verb(context, operation)))
    if verb not in _READ_LISTENERS:
        yield from events.check_listeners(context)
    result = yield from verb(context, operation)
    if context.events:
        yield from events.write(context)
    if context.changes:
        yield counters.append(context.changes.take())
    return cast(R, result)
