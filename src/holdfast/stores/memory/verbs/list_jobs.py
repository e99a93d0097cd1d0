"""List chains and jobs, newest first."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.record import ChainRecord, Record, Status, is_failing
from holdfast.engine.operations import Filter, ListChains, ListJobs
from holdfast.stores.memory.state import State


def list_chains(state: State, op: ListChains) -> list[ChainRecord]:
    wanted = op.filter
    ids: Iterable[str] = state.chains
    if wanted.key is not None and len(wanted.types) == 1:
        ids = state.keys.get((wanted.types[0], wanted.key), ())
    chains = [state.need_chain(chain_id) for chain_id in ids]
    chains = [chain for chain in chains if _shown(state, wanted, first=chain.first, last=chain.last)]
    chains = [chain for chain in chains if not (wanted.kept and state.expired(chain))]
    chains = [chain for chain in chains if op.before is None or chain.first.seq < op.before]
    return sorted(chains, key=lambda chain: -chain.first.seq)[: op.limit]


def list_jobs(state: State, op: ListJobs) -> list[Record]:
    jobs = [job for job in state.jobs.values() if _shown(state, op.filter, first=job, last=job)]
    jobs = [job for job in jobs if op.before is None or job.seq < op.before]
    return sorted(jobs, key=lambda job: -job.seq)[: op.limit]


def _shown(state: State, wanted: Filter, *, first: Record, last: Record) -> bool:
    return (
        (not wanted.statuses or last.status in wanted.statuses)
        and (not wanted.scheduled or (last.status is Status.PENDING and last.scheduled_at > state.now()))
        and (wanted.failing is None or is_failing(last) is wanted.failing)
        and (not wanted.types or first.type in wanted.types)
        and (wanted.chain_id is None or first.chain_id == wanted.chain_id)
        and (wanted.key is None or first.key == wanted.key)
        and (wanted.since is None or first.created_at >= wanted.since)
        and (wanted.until is None or first.created_at < wanted.until)
    )
