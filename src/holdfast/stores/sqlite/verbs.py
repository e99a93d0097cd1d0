"""Every verb and its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from holdfast.operations import Operation
from holdfast.sql.plan import Plan, Turn
from holdfast.stores.sqlite import (
    completing,
    creating,
    deleting,
    events,
    examining,
    holding,
    listing,
    marking,
    operating,
    reading,
    settling,
    waiting,
)

R = TypeVar("R")

Verb = Callable[[Turn, Any], Plan[Any]]

VERBS: dict[str, Verb] = {
    verb: getattr(module, verb)
    for module, verbs in {
        creating: ("start", "preview"),
        holding: ("claim", "renew", "guard", "progress", "reap"),
        settling: ("settle",),
        completing: ("lock", "complete"),
        operating: ("cancel", "retry", "run_now", "pause", "resume", "keep"),
        deleting: ("delete", "prune"),
        reading: ("get_chains", "get_jobs", "get_blockers", "get_history", "get_stats", "next_due"),
        listing: ("list_chains", "list_jobs"),
        events: ("listen", "unlisten", "read_events"),
        examining: ("examine",),
        marking: ("mark", "find_marks"),
        waiting: ("get_waiting",),
    }.items()
    for verb in verbs
}


def plan(operation: Operation[R], turn: Turn) -> Plan[R]:
    """The whole of an operation: its verb, and the events it records."""
    verb = VERBS[operation.verb]
    if not operation.writes:
        return cast(R, (yield from verb(turn, operation)))
    if verb is not creating.start:
        yield from events.notice_listeners(turn)
    answer = yield from verb(turn, operation)
    if turn.events:
        yield from events.write(turn)
    return cast(R, answer)
