"""Retry: return failed and cancelled jobs to pending, or to blocked."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from holdfast.core.blocker_rules import open_after_retry, waits_for_end
from holdfast.core.details import next_epoch
from holdfast.core.record import Record, Status
from holdfast.engine.operations import RetryJobs
from holdfast.errors import NotPending
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit
from holdfast.stores.memory.verbs.dependencies import check_retried
from holdfast.stores.memory.verbs.steps import remove_steps, removed_steps

_RETRIED = (Status.FAILED, Status.CANCELLED)


def retry(state: State, op: RetryJobs) -> list[Record]:
    jobs = state.jobs_with_status(op.job_ids, _RETRIED, "failed or cancelled")
    jobs = [_with_open_blockers(state, job, {each.chain_id for each in jobs}) for job in jobs]
    _check_keys(state, jobs)
    check_retried(state, jobs)
    removed = {} if op.from_step is None else {job.id: removed_steps(state, job, op.from_step) for job in jobs}
    now = state.now()
    for job in jobs:
        if state.jobs[job.id].status not in _RETRIED:
            continue  # the caller named it twice
        status = Status.BLOCKED if job.open_blockers else Status.PENDING
        write_audit(state, op.audit, "retry", [(job.id, job.chain_id)])
        changes: dict[str, Any] = {
            "status": status,
            "open_blockers": job.open_blockers,
            "attempt": 0,
            "scheduled_at": now,
        }
        if job.id in removed:
            remove_steps(state, job, removed[job.id])
            changes["details"] = next_epoch(job.details)
        state.change(job, "retried", **changes, finished_at=None, token=None)
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


def _with_open_blockers(state: State, job: Record, retried: set[str]) -> Record:
    """The job with the number of blockers that it waits for after the retry. `retried`: chains that run again."""
    chains = [state.need_chain(chain_id) for chain_id in state.blockers.get(job.id, ())]
    if not waits_for_end(job.on_blocker_failure):
        if job.open_blockers > sum(chain.last.status is not Status.COMPLETED for chain in chains):
            raise NotPending.blocker_deleted(job.id, job.status)
        return job
    ids = [chain.first.id for chain in chains]
    found = [
        (id, Status.PENDING if id in retried else chain.last.status) for id, chain in zip(ids, chains, strict=True)
    ]
    return replace(job, open_blockers=open_after_retry(job.id, job.status, job.on_blocker_failure, job.blockers, found))
