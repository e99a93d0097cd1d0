"""List chains and jobs, newest first."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.clock import Micros
from holdfast.core.error_search import ErrorSearch
from holdfast.core.record import ChainRecord, Record, Status, is_failing
from holdfast.engine.operations import Filter, ListChains, Listing, ListJobs
from holdfast.stores.memory.state import State


def list_chains(state: State, op: ListChains) -> Listing[ChainRecord]:
    wanted = op.filter
    ids: Iterable[str] = state.chains
    if wanted.key is not None and len(wanted.chain_types) == 1:
        ids = state.keys.get((wanted.chain_types[0], wanted.key), ())
    chains = [state.need_chain(chain_id) for chain_id in ids]
    chains = [chain for chain in chains if _shown(state, wanted, first=chain.first, last=chain.last)]
    chains = [chain for chain in chains if not (wanted.kept and state.expired(chain))]
    chains = [chain for chain in chains if op.before is None or chain.first.seq < op.before]
    chains.sort(key=lambda chain: -chain.first.seq)
    return Listing.cut(chains, [chain.first.seq for chain in chains], op.limit)


def list_jobs(state: State, op: ListJobs) -> Listing[Record]:
    jobs = [job for job in state.jobs.values() if _shown(state, op.filter, first=job, last=job)]
    jobs = [job for job in jobs if op.before is None or job.seq < op.before]
    jobs.sort(key=lambda job: -job.seq)
    return Listing.cut(jobs, [job.seq for job in jobs], op.limit)


def _shown(state: State, wanted: Filter, *, first: Record, last: Record) -> bool:
    return (
        (not wanted.statuses or last.status in wanted.statuses)
        and (not wanted.scheduled or (last.status is Status.PENDING and last.scheduled_at > state.now()))
        and (wanted.failing is None or is_failing(last) is wanted.failing)
        and (wanted.fingerprint is None or _failed_with(state, last, wanted.fingerprint))
        and (not wanted.types or last.type in wanted.types)
        and (not wanted.chain_types or first.type in wanted.chain_types)
        and (wanted.chain_id is None or first.chain_id == wanted.chain_id)
        and (wanted.key is None or first.key == wanted.key)
        and (wanted.created_since is None or first.created_at >= wanted.created_since)
        and (wanted.created_until is None or first.created_at < wanted.created_until)
        and (wanted.failed_since is None or (last.status is Status.FAILED and _ended_since(last, wanted.failed_since)))
        and (wanted.finished_since is None or _ended_since(last, wanted.finished_since))
        and (wanted.error is None or ErrorSearch.of(wanted.error).finds(last.error))
        and (wanted.worker is None or last.worker == wanted.worker)
    )


def _ended_since(job: Record, since: Micros) -> bool:
    return job.finished_at is not None and job.finished_at >= since


def _failed_with(state: State, job: Record, fingerprint: str) -> bool:
    return job.status is Status.FAILED and state.fingerprints.get(job.id) == fingerprint
