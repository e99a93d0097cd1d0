"""Replace: change a chain that has not begun, for a start with the same key."""

from __future__ import annotations

from holdfast.core.lifecycle import NewJob
from holdfast.core.replacing import counted_since, may_replace, replaced
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.blocking import end_at_once, forget_blockers, name_blockers, wait_for


def replace_chain(state: State, chain_id: str, job: NewJob) -> None:
    """Give the chain the input and the options of this start."""
    old, now = state.jobs[chain_id], state.now()
    if not may_replace(old, job):
        return
    since = counted_since(old, now, state.debounced.get(chain_id))
    if old.attempt:
        state.set(state.debounced, chain_id, now)
    forget_blockers(state, old)
    state.lanes.removed(state, old)
    waiting = wait_for(state, job)
    status, left = waiting.status, waiting.open_blockers
    record = replaced(old, job, now, since=since, status=status, open_blockers=left)
    name_blockers(state, record, job.after)
    state.put(record, "replaced")
    end_at_once(state, record, waiting)
