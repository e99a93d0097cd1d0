"""Retry: return failed and cancelled jobs to pending, or to blocked."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import RetryJobs
from holdfast.errors import NotPending
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.dependencies import check_retried

_RETRIED = (Status.FAILED, Status.CANCELLED)


def retry(state: State, op: RetryJobs) -> list[Record]:
    jobs = state.jobs_with_status(op.job_ids, _RETRIED, "failed or cancelled")
    for job in jobs:
        if job.open_blockers > _open_blockers(state, job):
            raise NotPending.blocker_deleted(job.id, job.status)
    _check_keys(state, jobs)
    check_retried(state, jobs)
    now = state.now()
    for job in jobs:
        if state.jobs[job.id].status not in _RETRIED:
            continue  # the caller named it twice
        status = Status.BLOCKED if job.open_blockers else Status.PENDING
        state.change(job, "retried", status=status, attempt=0, scheduled_at=now, finished_at=None, token=None)
    return [state.jobs[job.id] for job in jobs]


def _check_keys(state: State, jobs: list[Record]) -> None:
    """A key has one unfinished chain at a time, also after a retry."""
    unfinished: dict[tuple[str, str], str] = {}
    for job in jobs:
        first = state.need_chain(job.chain_id).first
        if first.key is None:
            continue
        name = (first.type, first.key)
        others = (chain for chain in reversed(state.keys[name]) if not state.need_chain(chain).last.status.finished)
        holder = unfinished.setdefault(name, next(others, first.id))
        if holder != first.id:
            raise NotPending.key_taken(job.id, job.status, holder)


def _open_blockers(state: State, job: Record) -> int:
    chains = [state.need_chain(chain_id) for chain_id in state.blockers.get(job.id, ())]
    return sum(chain.last.status is not Status.COMPLETED for chain in chains)
