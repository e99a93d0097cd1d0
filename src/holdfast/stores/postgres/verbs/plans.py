"""Maps each operation to its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from holdfast.engine.operations import Operation
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.audit import get_audit
from holdfast.stores.postgres.verbs.cancel import cancel
from holdfast.stores.postgres.verbs.claim import claim
from holdfast.stores.postgres.verbs.complete import complete, lock
from holdfast.stores.postgres.verbs.counters import get_counters, get_errors
from holdfast.stores.postgres.verbs.delete import delete
from holdfast.stores.postgres.verbs.dependencies import get_waiting
from holdfast.stores.postgres.verbs.events import listen, read_events, unlisten
from holdfast.stores.postgres.verbs.examine import examine
from holdfast.stores.postgres.verbs.explain import explain
from holdfast.stores.postgres.verbs.get import (
    get_blockers,
    get_chains,
    get_dependents,
    get_history,
    get_jobs,
    get_started,
)
from holdfast.stores.postgres.verbs.guard import guard
from holdfast.stores.postgres.verbs.keep import keep
from holdfast.stores.postgres.verbs.limits import declare_limits, get_lanes, get_limits, set_limit, skip
from holdfast.stores.postgres.verbs.list_jobs import list_chains, list_jobs
from holdfast.stores.postgres.verbs.logs import save_logs
from holdfast.stores.postgres.verbs.marks import find_marks, mark
from holdfast.stores.postgres.verbs.messages import get_messages, send
from holdfast.stores.postgres.verbs.next_due import next_due
from holdfast.stores.postgres.verbs.pause import pause, resume
from holdfast.stores.postgres.verbs.progress import progress
from holdfast.stores.postgres.verbs.prune import prune
from holdfast.stores.postgres.verbs.reap import reap
from holdfast.stores.postgres.verbs.renew import renew
from holdfast.stores.postgres.verbs.retry import retry
from holdfast.stores.postgres.verbs.run_now import run_now
from holdfast.stores.postgres.verbs.schedules import change_schedule, due_schedules, get_schedules
from holdfast.stores.postgres.verbs.settle import settle
from holdfast.stores.postgres.verbs.start import preview, start
from holdfast.stores.postgres.verbs.stats import get_stats
from holdfast.stores.postgres.verbs.steps import get_steps, save_steps
from holdfast.stores.postgres.verbs.workers import drain_worker, get_workers, remove_worker, report_worker

R = TypeVar("R")

Verb = Callable[[PlanContext, Any], Plan[Any]]

VERBS: Final[dict[str, Verb]] = {
    "start": start,
    "preview": preview,
    "claim": claim,
    "renew": renew,
    "guard": guard,
    "progress": progress,
    "save_logs": save_logs,
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
    "get_dependents": get_dependents,
    "get_started": get_started,
    "get_history": get_history,
    "get_stats": get_stats,
    "get_waiting": get_waiting,
    "get_audit": get_audit,
    "get_counters": get_counters,
    "get_errors": get_errors,
    "declare_limits": declare_limits,
    "set_limit": set_limit,
    "get_limits": get_limits,
    "get_lanes": get_lanes,
    "skip": skip,
    "next_due": next_due,
    "list_chains": list_chains,
    "list_jobs": list_jobs,
    "listen": listen,
    "unlisten": unlisten,
    "read_events": read_events,
    "examine": examine,
    "mark": mark,
    "find_marks": find_marks,
    "report_worker": report_worker,
    "remove_worker": remove_worker,
    "drain_worker": drain_worker,
    "get_workers": get_workers,
    "explain": explain,
    "save_steps": save_steps,
    "get_steps": get_steps,
    "get_messages": get_messages,
    "send": send,
    "get_schedules": get_schedules,
    "due_schedules": due_schedules,
    "change_schedule": change_schedule,
}


def plan(context: PlanContext, operation: Operation[R]) -> Plan[R]:
    """The plan of an operation."""
    return VERBS[operation.verb](context, operation)
