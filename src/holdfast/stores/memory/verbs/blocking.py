"""The blockers of a job that is created or replaced."""

from __future__ import annotations

from holdfast.core.blocker_rules import NO_BLOCKERS, BlockerState, blocker_state
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.chain_ends import cancel_waiting, chain_broken, fail_with


def wait_for(state: State, job: NewJob) -> BlockerState:
    """What the blockers of a job mean for it."""
    if not job.after:
        return NO_BLOCKERS
    statuses = {chain: state.need_chain(chain).last.status for chain in job.after}
    return blocker_state(job.on_blocker_failure, job.after, statuses)


def name_blockers(state: State, job: Record, after: tuple[str, ...]) -> None:
    """Let a job wait for these chains."""
    if after:
        state.set(state.blockers, job.id, after)
    for chain in after:
        state.append(state.dependents, chain, job.id)


def forget_blockers(state: State, job: Record) -> None:
    """Let a job wait for no chain."""
    after = state.drop(state.blockers, job.id)
    for chain in dict.fromkeys(after or ()):
        state.set(state.dependents, chain, [other for other in state.dependents[chain] if other != job.id])


def end_at_once(state: State, job: Record, waiting: BlockerState) -> None:
    """Fail or cancel the job if the ends of its blockers require it."""
    if waiting.broken is None and not waiting.cancelled:
        return
    now = state.now()
    if waiting.broken is not None:
        fail_with(state, job, waiting.broken, now)
    else:
        cancel_waiting(state, job, now)
    chain_broken(state, job.chain_id, now)
