"""Every verb and its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from holdfast.engine.operations import Operation
from holdfast.stores.sql.plan import Plan, Turn
from holdfast.stores.sqlite.verbs import (
    claim,
    complete,
    delete,
    dependencies,
    events,
    examine,
    list_jobs,
    marks,
    operate,
    read,
    settle,
    start,
)

R = TypeVar("R")

Verb = Callable[[Turn, Any], Plan[Any]]

VERBS: dict[str, Verb] = {
    verb: getattr(module, verb)
    for module, verbs in {
        start: ("start", "preview"),
        claim: ("claim", "renew", "guard", "progress", "reap"),
        settle: ("settle",),
        complete: ("lock", "complete"),
        operate: ("cancel", "retry", "run_now", "pause", "resume", "keep"),
        delete: ("delete", "prune"),
        read: ("get_chains", "get_jobs", "get_blockers", "get_history", "get_stats", "next_due"),
        list_jobs: ("list_chains", "list_jobs"),
        events: ("listen", "unlisten", "read_events"),
        examine: ("examine",),
        marks: ("mark", "find_marks"),
        dependencies: ("get_waiting",),
    }.items()
    for verb in verbs
}


def plan(operation: Operation[R], turn: Turn) -> Plan[R]:
    """The whole of an operation: its verb, and the events it records."""
    verb = VERBS[operation.verb]
    if not operation.writes:
        return cast(R, (yield from verb(turn, operation)))
    if verb is not start.start:
        yield from events.notice_listeners(turn)
    answer = yield from verb(turn, operation)
    if turn.events:
        yield from events.write(turn)
    return cast(R, answer)
