"""The verbs by name: how each operation is asked of the server. No I/O: the store sends the calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.stores.redis import completing, creating, deleting, holding, operating, reading
from holdfast.stores.redis.call import Asking

VERBS: dict[str, Callable[[Any], Asking[Any]]] = {
    "start": creating.start,
    "preview": creating.preview,
    "claim": holding.claim,
    "renew": holding.renew,
    "settle": holding.settle,
    "guard": holding.guard,
    "progress": holding.progress,
    "reap": holding.reap,
    "lock": completing.lock,
    "complete": completing.complete,
    "cancel": operating.cancel,
    "retry": operating.retry,
    "run_now": operating.run_now,
    "delete": deleting.delete,
    "pause": operating.pause,
    "resume": operating.resume,
    "keep": operating.keep,
    "prune": operating.prune,
    "get_chains": reading.get_chains,
    "get_jobs": reading.get_jobs,
    "get_blockers": reading.get_blockers,
    "get_history": reading.get_history,
    "list_jobs": reading.list_jobs,
    "list_chains": reading.list_chains,
    "get_stats": reading.get_stats,
    "get_waiting": reading.get_waiting,
    "next_due": reading.next_due,
    "listen": reading.listen,
    "unlisten": reading.unlisten,
    "read_events": reading.read_events,
}

STEPS = ("layout", "release", "blockers", "dependents", "remove", "running")
"""Scripts that are no verb, but a step of one, or of opening the store."""
