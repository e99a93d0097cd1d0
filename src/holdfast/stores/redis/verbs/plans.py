"""The plan of each verb: the script calls that perform its operation. No I/O: the store sends the calls."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from holdfast.stores.redis.verbs import (
    audit,
    cancel,
    claim,
    complete,
    counters,
    delete,
    events,
    explain,
    get,
    keep,
    limits,
    list_jobs,
    logs,
    pause,
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
from holdfast.stores.redis.verbs.script_call import ScriptPlan

_MODULES: dict[ModuleType, tuple[str, ...]] = {
    start: ("start", "preview"),
    claim: ("claim",),
    renew: ("renew", "guard", "progress"),
    logs: ("save_logs",),
    settle: ("settle",),
    reap: ("reap",),
    complete: ("lock", "complete"),
    cancel: ("cancel",),
    retry: ("retry",),
    run_now: ("run_now",),
    delete: ("delete",),
    pause: ("pause", "resume"),
    keep: ("keep",),
    limits: ("declare_limits", "set_limit", "get_limits", "get_lanes", "skip", "held_orders"),
    prune: ("prune",),
    get: ("get_chains", "get_jobs", "get_blockers", "get_dependents", "get_started", "get_history"),
    list_jobs: ("list_jobs", "list_chains"),
    stats: ("get_stats", "get_waiting", "next_due"),
    audit: ("get_audit",),
    counters: ("get_counters", "get_errors"),
    events: ("listen", "unlisten", "read_events"),
    explain: ("explain",),
    workers: ("report_worker", "remove_worker", "drain_worker", "get_workers"),
    steps: ("save_steps", "get_steps", "get_messages", "send"),
    schedules: ("get_schedules", "due_schedules", "change_schedule"),
}

VERBS: dict[str, Callable[[Any], ScriptPlan[Any]]] = {
    verb: getattr(module, verb) for module, verbs in _MODULES.items() for verb in verbs
}

HELPER_SCRIPTS = (
    "layout",
    "release",
    "blockers",
    "dependents",
    "remove",
    "running",
    "by_key",
    "busy",
    "open_blockers",
    "wake_lanes",
)
"""Scripts that are not a verb: each is part of a verb, or of opening the store."""
