"""Every verb and its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.engine.operations import Operation
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.verbs import (
    claim,
    complete,
    delete,
    dependencies,
    examine,
    list_jobs,
    marks,
    operate,
    read,
    settle,
    start,
)
from holdfast.stores.sql.plan import Plan

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
        read: (
            "get_chains", "get_jobs", "get_blockers", "get_history", "get_stats", "next_due",
            "listen", "unlisten", "read_events",
        ),
        list_jobs: ("list_chains", "list_jobs"),
        examine: ("examine",),
        marks: ("mark", "find_marks"),
        dependencies: ("get_waiting",),
    }.items()
    for verb in verbs
}  # fmt: skip


def plan(turn: Turn, operation: Operation[R]) -> Plan[R]:
    """The plan of an operation."""
    return VERBS[operation.verb](turn, operation)
