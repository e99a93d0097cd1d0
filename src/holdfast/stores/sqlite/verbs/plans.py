"""The plan of each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from holdfast.engine.operations import Operation
from holdfast.stores.sql.plan import Execution, Plan
from holdfast.stores.sqlite.verbs import (
    attempts,
    cancel,
    claim,
    complete,
    delete,
    dependencies,
    events,
    examine,
    get_jobs,
    get_stats,
    guard,
    keep,
    list_jobs,
    marks,
    next_due,
    pause,
    progress,
    prune,
    reap,
    renew,
    retry,
    run_now,
    settle,
    start,
)

R = TypeVar("R")

Verb = Callable[[Execution, Any], Plan[Any]]

VERBS: dict[str, Verb] = {
    "start": start.start,
    "preview": start.preview,
    "claim": claim.claim,
    "renew": renew.renew,
    "guard": guard.guard,
    "progress": progress.progress,
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
    "get_chains": get_jobs.get_chains,
    "get_jobs": get_jobs.get_jobs,
    "get_blockers": get_jobs.get_blockers,
    "get_history": attempts.get_history,
    "get_stats": get_stats.get_stats,
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
}


def plan(operation: Operation[R], execution: Execution) -> Plan[R]:
    """The plan of an operation: its verb, and the events that it records."""
    verb = VERBS[operation.verb]
    if not operation.writes:
        return cast(R, (yield from verb(execution, operation)))
    # A start reads it together with the other things that it needs.
    if verb is not start.start:
        yield from events.check_listeners(execution)
    result = yield from verb(execution, operation)
    if execution.events:
        yield from events.write(execution)
    return cast(R, result)
