"""Get chains, jobs, blockers and the history of a job."""

from __future__ import annotations

from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations import (
    GetBlockers,
    GetChains,
    GetDependents,
    GetHistory,
    GetJobs,
    GetStarted,
    PastAttempt,
)
from holdfast.stores.memory.state import State


def get_chains(state: State, op: GetChains) -> list[ChainRecord | None]:
    return [state.chain(chain_id) for chain_id in op.ids]


def get_jobs(state: State, op: GetJobs) -> list[Record | None]:
    return [state.jobs.get(job_id) for job_id in op.ids]


def get_blockers(state: State, op: GetBlockers) -> list[list[ChainRecord]]:
    return [[state.need_chain(chain_id) for chain_id in state.blockers.get(job_id, ())] for job_id in op.job_ids]


def get_dependents(state: State, op: GetDependents) -> list[Record]:
    return sorted(state.waiting_for(op.chain_id, set()), key=lambda job: job.seq)[: op.limit]


def get_started(state: State, op: GetStarted) -> list[str]:
    chains = [job for job in state.jobs.values() if job.index == 0 and job.origin in op.job_ids]
    return [job.id for job in sorted(chains, key=lambda job: job.seq)][: op.limit]


def get_history(state: State, op: GetHistory) -> tuple[Record, list[PastAttempt]] | None:
    job = state.jobs.get(op.job_id)
    return None if job is None else (job, list(state.history.get(op.job_id, ())))
