"""The plan of each verb: the script calls that perform its operation. No I/O: the store sends the calls."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from holdfast.stores.redis.verbs import (
    cancel,
    claim,
    complete,
    delete,
    events,
    get,
    get_stats,
    keep,
    listing,
    pause,
    prune,
    reap,
    renew,
    retry,
    run_now,
    settle,
    start,
)
from holdfast.stores.redis.verbs.script_call import ScriptPlan

_MODULES: dict[ModuleType, tuple[str, ...]] = {
    start: ("start", "preview"),
    claim: ("claim",),
    renew: ("renew", "guard", "progress"),
    settle: ("settle",),
    reap: ("reap",),
    complete: ("lock", "complete"),
    cancel: ("cancel",),
    retry: ("retry",),
    run_now: ("run_now",),
    delete: ("delete",),
    pause: ("pause", "resume"),
    keep: ("keep",),
    prune: ("prune",),
    get: ("get_chains", "get_jobs", "get_blockers", "get_history"),
    listing: ("list_jobs", "list_chains"),
    get_stats: ("get_stats", "get_waiting", "next_due"),
    events: ("listen", "unlisten", "read_events"),
}

VERBS: dict[str, Callable[[Any], ScriptPlan[Any]]] = {
    verb: getattr(module, verb) for module, verbs in _MODULES.items() for verb in verbs
}

HELPER_SCRIPTS = ("layout", "release", "blockers", "dependents", "remove", "running")
"""Scripts that are not a verb: each is part of a verb, or of opening the store."""
