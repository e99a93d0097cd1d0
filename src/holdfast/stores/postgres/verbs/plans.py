"""Maps each operation to its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from holdfast.engine.operations import Operation
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.verbs.cancel import cancel
from holdfast.stores.postgres.verbs.claim import claim
from holdfast.stores.postgres.verbs.complete import complete, lock
from holdfast.stores.postgres.verbs.delete import delete
from holdfast.stores.postgres.verbs.dependencies import get_waiting
from holdfast.stores.postgres.verbs.events import listen, read_events, unlisten
from holdfast.stores.postgres.verbs.examine import examine
from holdfast.stores.postgres.verbs.get import get_blockers, get_chains, get_history, get_jobs
from holdfast.stores.postgres.verbs.guard import guard
from holdfast.stores.postgres.verbs.keep import keep
from holdfast.stores.postgres.verbs.list_jobs import list_chains, list_jobs
from holdfast.stores.postgres.verbs.marks import find_marks, mark
from holdfast.stores.postgres.verbs.next_due import next_due
from holdfast.stores.postgres.verbs.pause import pause, resume
from holdfast.stores.postgres.verbs.progress import progress
from holdfast.stores.postgres.verbs.prune import prune
from holdfast.stores.postgres.verbs.reap import reap
from holdfast.stores.postgres.verbs.renew import renew
from holdfast.stores.postgres.verbs.retry import retry
from holdfast.stores.postgres.verbs.run_now import run_now
from holdfast.stores.postgres.verbs.settle import settle
from holdfast.stores.postgres.verbs.start import preview, start
from holdfast.stores.postgres.verbs.stats import get_stats

R = TypeVar("R")

Verb = Callable[[Execution, Any], Plan[Any]]

VERBS: Final[dict[str, Verb]] = {
    "start": start,
    "preview": preview,
    "claim": claim,
    "renew": renew,
    "guard": guard,
    "progress": progress,
    "settle": settle,
    "reap": reap,
    "lock": lock,
    "complete": complete,
    "cancel": cancel,
    "retry": retry,
    "run_now": run_now,
    "pause": pause,
    "resume": resume,
    "keep": keep,
    "delete": delete,
    "prune": prune,
    "get_chains": get_chains,
    "get_jobs": get_jobs,
    "get_blockers": get_blockers,
    "get_history": get_history,
    "get_stats": get_stats,
    "get_waiting": get_waiting,
    "next_due": next_due,
    "list_chains": list_chains,
    "list_jobs": list_jobs,
    "listen": listen,
    "unlisten": unlisten,
    "read_events": read_events,
    "examine": examine,
    "mark": mark,
    "find_marks": find_marks,
}


def plan(execution: Execution, operation: Operation[R]) -> Plan[R]:
    """The plan of an operation."""
    return VERBS[operation.verb](execution, operation)
