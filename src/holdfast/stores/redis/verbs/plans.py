"""The verbs by name: how each operation is asked of the server. No I/O: the store sends the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.stores.redis.verbs import claim, complete, delete, operate, read, start
from holdfast.stores.redis.verbs.script_call import Asking

VERBS: dict[str, Callable[[Any], Asking[Any]]] = {
    "start": start.start,
    "preview": start.preview,
    "claim": claim.claim,
    "renew": claim.renew,
    "settle": claim.settle,
    "guard": claim.guard,
    "progress": claim.progress,
    "reap": claim.reap,
    "lock": complete.lock,
    "complete": complete.complete,
    "cancel": operate.cancel,
    "retry": operate.retry,
    "run_now": operate.run_now,
    "delete": delete.delete,
    "pause": operate.pause,
    "resume": operate.resume,
    "keep": operate.keep,
    "prune": operate.prune,
    "get_chains": read.get_chains,
    "get_jobs": read.get_jobs,
    "get_blockers": read.get_blockers,
    "get_history": read.get_history,
    "list_jobs": read.list_jobs,
    "list_chains": read.list_chains,
    "get_stats": read.get_stats,
    "get_waiting": read.get_waiting,
    "next_due": read.next_due,
    "listen": read.listen,
    "unlisten": read.unlisten,
    "read_events": read.read_events,
}

STEPS = ("layout", "release", "blockers", "dependents", "remove", "running")
"""Scripts that are no verb, but a step of one, or of opening the store."""
