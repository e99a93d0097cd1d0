"""One module per verb. A verb is a function of the state and an operation; it runs while the store holds its lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import get_audit
from holdfast.stores.memory.verbs.cancel import cancel
from holdfast.stores.memory.verbs.claim import claim
from holdfast.stores.memory.verbs.complete import complete, lock
from holdfast.stores.memory.verbs.counters import get_counters, get_errors
from holdfast.stores.memory.verbs.delete import delete
from holdfast.stores.memory.verbs.dependencies import get_waiting
from holdfast.stores.memory.verbs.events import listen, read_events, unlisten
from holdfast.stores.memory.verbs.examine import examine
from holdfast.stores.memory.verbs.explain import explain
from holdfast.stores.memory.verbs.get import (
    get_blockers,
    get_chains,
    get_dependents,
    get_history,
    get_jobs,
    get_started,
)
from holdfast.stores.memory.verbs.guard import guard
from holdfast.stores.memory.verbs.keep import keep
from holdfast.stores.memory.verbs.limits import declare_limits, get_lanes, get_limits, set_limit, skip
from holdfast.stores.memory.verbs.list_jobs import list_chains, list_jobs
from holdfast.stores.memory.verbs.logs import save_logs
from holdfast.stores.memory.verbs.next_due import next_due
from holdfast.stores.memory.verbs.pause import pause, resume
from holdfast.stores.memory.verbs.progress import progress
from holdfast.stores.memory.verbs.prune import prune
from holdfast.stores.memory.verbs.reap import reap
from holdfast.stores.memory.verbs.renew import renew
from holdfast.stores.memory.verbs.retry import retry
from holdfast.stores.memory.verbs.run_now import run_now
from holdfast.stores.memory.verbs.schedules import change_schedule, due_schedules, get_schedules
from holdfast.stores.memory.verbs.settle import settle
from holdfast.stores.memory.verbs.start import preview, start
from holdfast.stores.memory.verbs.stats import get_stats
from holdfast.stores.memory.verbs.steps import get_messages, get_steps, save_steps, send
from holdfast.stores.memory.verbs.workers import drain_worker, get_workers, remove_worker, report_worker

VERBS: dict[str, Callable[[State, Any], Any]] = {
    verb.__name__: verb
    for verb in (
        start, preview, claim, renew, guard, progress, settle, reap, lock, complete, cancel, retry, run_now, delete,
        pause, resume, keep, prune, get_chains, get_jobs, get_blockers, get_history, list_chains, list_jobs, get_stats,
        report_worker, remove_worker, drain_worker, get_workers, save_logs, declare_limits, set_limit, get_limits,
        get_lanes, skip,
        get_waiting, get_audit, get_counters, get_errors, next_due, listen, unlisten, read_events, examine,
        explain, get_dependents, get_started, save_steps, get_steps, get_messages, send,
        get_schedules, due_schedules, change_schedule,
    )
}  # fmt: skip
