"""The blockers of a job that is created or replaced."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.blocker_rules import waiting_status, waits_for_end
from holdfast.core.lifecycle import NewJob
from holdfast.core.record import Record, Status
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.chain_ends import cancel_waiting, chain_broken, fail_with


class BlockerState(NamedTuple):
    """What the blockers of a job mean for it."""

    status: Status
    open_blockers: int
    broken: str | None
    """A blocker because of which the job fails at once."""
    cancelled: bool
    """Whether the job is cancelled at once: it waits for a failure, and all blockers completed."""


_FOR_NOTHING = BlockerState(Status.PENDING, 0, None, False)


def wait_for(state: State, job: NewJob) -> BlockerState:
    """The status of a job with these blockers. A job that ends at once is blocked before."""
    if not job.after:
        return _FOR_NOTHING
    statuses = {chain: state.need_chain(chain).last.status for chain in job.after}
    open_blockers = [chain for chain in job.after if statuses[chain] is not Status.COMPLETED]
    status, left = Status.BLOCKED if open_blockers else Status.PENDING, len(open_blockers)
    if waits_for_end(job.on_blocker_failure):
        status, left = waiting_status(job.on_blocker_failure, statuses.values())
    cancelled = status is Status.CANCELLED
    broken = (chain for chain in open_blockers if statuses[chain].finished and job.on_blocker_failure == "fail")
    return BlockerState(Status.BLOCKED if cancelled else status, left, next(broken, None), cancelled)


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
    """Fail or cancel the job if its blockers say so."""
    if waiting.broken is None and not waiting.cancelled:
        return
    now = state.now()
    if waiting.broken is not None:
        fail_with(state, job, waiting.broken, now)
    else:
        cancel_waiting(state, job, now)
    chain_broken(state, job.chain_id, now)
