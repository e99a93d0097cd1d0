"""Every verb and its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.operations import Operation
from holdfast.sql.plan import Plan
from holdfast.stores.postgres import (
    completing,
    creating,
    deleting,
    examining,
    holding,
    listing,
    marking,
    operating,
    reading,
    settling,
    waiting,
)
from holdfast.stores.postgres.turn import Turn

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
        reading: (
            "get_chains", "get_jobs", "get_blockers", "get_history", "get_stats", "next_due",
            "listen", "unlisten", "read_events",
        ),
        listing: ("list_chains", "list_jobs"),
        examining: ("examine",),
        marking: ("mark", "find_marks"),
        waiting: ("get_waiting",),
    }.items()
    for verb in verbs
}  # fmt: skip


def plan(turn: Turn, operation: Operation[R]) -> Plan[R]:
    """The plan of an operation."""
    return VERBS[operation.verb](turn, operation)
