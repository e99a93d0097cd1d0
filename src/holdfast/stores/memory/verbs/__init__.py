"""One module per verb. A verb is a function of the state and an operation; it runs while the store holds its lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.cancel import cancel
from holdfast.stores.memory.verbs.claim import claim
from holdfast.stores.memory.verbs.complete import complete, lock
from holdfast.stores.memory.verbs.delete import delete
from holdfast.stores.memory.verbs.dependencies import get_waiting
from holdfast.stores.memory.verbs.events import listen, read_events, unlisten
from holdfast.stores.memory.verbs.examine import examine
from holdfast.stores.memory.verbs.get import get_blockers, get_chains, get_history, get_jobs
from holdfast.stores.memory.verbs.guard import guard
from holdfast.stores.memory.verbs.keep import keep
from holdfast.stores.memory.verbs.list_jobs import list_chains, list_jobs
from holdfast.stores.memory.verbs.next_due import next_due
from holdfast.stores.memory.verbs.pause import pause, resume
from holdfast.stores.memory.verbs.progress import progress
from holdfast.stores.memory.verbs.prune import prune
from holdfast.stores.memory.verbs.reap import reap
from holdfast.stores.memory.verbs.renew import renew
from holdfast.stores.memory.verbs.retry import retry
from holdfast.stores.memory.verbs.run_now import run_now
from holdfast.stores.memory.verbs.settle import settle
from holdfast.stores.memory.verbs.start import preview, start
from holdfast.stores.memory.verbs.stats import get_stats

VERBS: dict[str, Callable[[State, Any], Any]] = {
    verb.__name__: verb
    for verb in (
        start, preview, claim, renew, guard, progress, settle, reap, lock, complete, cancel, retry, run_now, delete,
        pause, resume, keep, prune, get_chains, get_jobs, get_blockers, get_history, list_chains, list_jobs, get_stats,
        get_waiting, next_due, listen, unlisten, read_events, examine,
    )
}  # fmt: skip
