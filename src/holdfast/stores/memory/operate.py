"""Cancel, retry, run now, delete, pause, prune: what an operator does."""

from __future__ import annotations

import heapq

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import Cancel, Delete, Keep, Pause, Prune, Resume, RetryJobs, RunNow
from holdfast.errors import JobNotFound, NotPending, StillReferenced
from holdfast.stores.memory import dependencies
from holdfast.stores.memory.state import State


def cancel(state: State, op: Cancel) -> list[ChainRecord]:
    now = state.now()
    jobs = [state.need_chain(chain_id).last for chain_id in dict.fromkeys(op.chain_ids)]
    spared = {Status.RUNNING} if op.spare_running else set[Status]()
    jobs = [job for job in jobs if not job.status.finished and job.status not in spared]
    for job in jobs:
        if job.status is Status.RUNNING:
            state.end_attempt(job, "cancelled", op.reason)
            state.hints.lost.add(job.id)
        state.change(
            job,
            "cancelled",
            status=Status.CANCELLED,
            error=op.reason,
            worker=None,
            token=None,
            leased_until=None,
            renewed_at=None,
            mismatches=None,
            mismatched_at=None,
            finished_at=now,
        )
    for job in jobs:  # only now, so that chains named together are all cancelled and none fails with another
        state.chain_broken(job.chain_id, now)
    return [state.need_chain(chain_id) for chain_id in op.chain_ids]


def retry(state: State, op: RetryJobs) -> list[Record]:
    wanted = (Status.FAILED, Status.CANCELLED)
    jobs = _jobs(state, op.job_ids, wanted, "failed or cancelled")
    for job in jobs:
        if job.open_blockers > _open_blockers(state, job):
            raise NotPending.blocker_deleted(job.id, job.status)
    _check_keys(state, jobs)
    dependencies.check_retried(state, jobs)
    now = state.now()
    for job in jobs:
        if state.jobs[job.id].status not in wanted:
            continue  # named twice
        status = Status.BLOCKED if job.open_blockers else Status.PENDING
        state.change(job, "retried", status=status, attempt=0, scheduled_at=now, finished_at=None, token=None)
    return [state.jobs[job.id] for job in jobs]


def _check_keys(state: State, jobs: list[Record]) -> None:
    """A key has one live chain at a time, also when an old one begins anew."""
    live: dict[tuple[str, str], str] = {}
    for job in jobs:
        first = state.need_chain(job.chain_id).first
        if first.key is None:
            continue
        name = (first.type, first.key)
        others = (chain for chain in reversed(state.keys[name]) if not state.need_chain(chain).last.status.finished)
        holder = live.setdefault(name, next(others, first.id))
        if holder != first.id:
            raise NotPending.key_taken(job.id, job.status, holder)


def run_now(state: State, op: RunNow) -> list[Record]:
    jobs = _jobs(state, op.job_ids, (Status.PENDING,), "pending")
    now = state.now()
    return [state.change(job, "hurried", scheduled_at=min(job.scheduled_at, now)) for job in jobs]


def delete(state: State, op: Delete) -> list[str]:
    deletable = [chain_id for chain_id in dict.fromkeys(op.chain_ids) if chain_id in state.chains]
    if op.cascade:
        for chain_id in deletable:  # grows as it is walked
            for job_id in state.chains[chain_id]:
                deletable += [
                    chain for chain in dict.fromkeys(state.blockers.get(job_id, ())) if chain not in deletable
                ]
    stranded = [(chain_id, job.id) for chain_id in deletable for job in _waiting(state, chain_id, set(deletable))]
    if stranded:
        raise StillReferenced(stranded)
    for chain_id in deletable:
        state.remove_chain(chain_id)
    return deletable


def pause(state: State, op: Pause) -> None:
    state.paused.update(op.types)


def resume(state: State, op: Resume) -> None:
    state.paused.difference_update(op.types)
    state.hints.due.update(op.types)


def keep(state: State, op: Keep) -> list[bool | None]:
    return [_keep(state, chain_id, op.keep) for chain_id in op.chain_ids]


def _keep(state: State, chain_id: str, keep: Micros | None) -> bool | None:
    chain = state.chain(chain_id)
    if chain is None or state.expired(chain):
        return None
    finished = chain.last.finished_at
    if finished is None:
        return False
    until = None if keep is None else state.now() - finished + keep
    state.set(state.jobs, chain.last.id, replace(chain.last, keep=until))
    if until is not None:
        heapq.heappush(state.expiring, (finished + until, chain_id))
    return True


def prune(state: State, op: Prune) -> list[str]:
    state.change_indexes()
    now = state.now()
    pruned: list[str] = []
    kept: list[tuple[int, str]] = []
    while state.expiring and state.expiring[0][0] <= now and len(pruned) < op.limit:
        expires, chain_id = heapq.heappop(state.expiring)
        if state.expiry(chain_id) != expires:
            continue  # deleted, or retried since
        if any(_waiting(state, chain_id, {chain_id})):
            kept.append((expires, chain_id))
        else:
            state.remove_chain(chain_id)
            pruned.append(chain_id)
    for entry in kept:
        heapq.heappush(state.expiring, entry)
    return pruned


def _open_blockers(state: State, job: Record) -> int:
    chains = [state.need_chain(chain_id) for chain_id in state.blockers.get(job.id, ())]
    return sum(chain.last.status is not Status.COMPLETED for chain in chains)


def _waiting(state: State, chain_id: str, besides: set[str]) -> list[Record]:
    """Unfinished jobs that refer to a chain as their blocker, outside the given chains."""
    jobs = [state.jobs[job_id] for job_id in dict.fromkeys(state.dependents.get(chain_id, ()))]
    return [job for job in jobs if not job.status.finished and job.chain_id not in besides]


def _jobs(state: State, ids: tuple[str, ...], statuses: tuple[Status, ...], wanted: str) -> list[Record]:
    for job_id in ids:
        if job_id not in state.jobs:
            raise JobNotFound(job_id)
    jobs = [state.jobs[job_id] for job_id in ids]
    for job in jobs:
        if job.status not in statuses:
            raise NotPending(job.id, job.status, wanted)
    return jobs
