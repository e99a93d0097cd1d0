"""Read: nothing here changes a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record, Status
from holdfast.engine.operations import (
    EventRow,
    Examine,
    Filter,
    Finding,
    GetBlockers,
    GetChains,
    GetHistory,
    GetJobs,
    GetStats,
    ListChains,
    Listen,
    ListJobs,
    NextDue,
    PastAttempt,
    ReadEvents,
    TypeStats,
    Unlisten,
)
from holdfast.stores.memory.state import State


def get_chains(state: State, op: GetChains) -> list[ChainRecord | None]:
    return [state.chain(chain_id) for chain_id in op.ids]


def get_jobs(state: State, op: GetJobs) -> list[Record | None]:
    return [state.jobs.get(job_id) for job_id in op.ids]


def get_blockers(state: State, op: GetBlockers) -> list[ChainRecord]:
    return [state.need_chain(chain_id) for chain_id in state.blockers.get(op.job_id, ())]


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
        and (not wanted.types or first.type in wanted.types)
        and (wanted.chain_id is None or first.chain_id == wanted.chain_id)
        and (wanted.key is None or first.key == wanted.key)
        and (wanted.since is None or first.created_at >= wanted.since)
        and (wanted.until is None or first.created_at < wanted.until)
    )


def get_history(state: State, op: GetHistory) -> tuple[Record, list[PastAttempt]] | None:
    job = state.jobs.get(op.job_id)
    return None if job is None else (job, list(state.history.get(op.job_id, ())))


def get_stats(state: State, op: GetStats) -> list[TypeStats]:
    now = state.now()
    by_type: dict[str, list[Record]] = {name: [] for name in state.paused}
    for job in state.jobs.values():
        by_type.setdefault(job.type, []).append(job)
    stats: list[TypeStats] = []
    for name, jobs in sorted(by_type.items()):
        pending = [job.scheduled_at for job in jobs if job.status is Status.PENDING]
        due = [moment for moment in pending if moment <= now]
        counts = Counter(job.status for job in jobs)
        scheduled = len(pending) - len(due)
        oldest = min(due, default=None)
        stats.append(TypeStats(name, dict(counts), len(due), scheduled, oldest, name in state.paused))
    return stats


def next_due(state: State, op: NextDue) -> Micros | None:
    now = state.now()
    moments: list[Micros] = []
    for name in op.types:
        moment = state.next_due(name)
        if moment is not None and name not in state.paused:
            moments.append(moment)
    running = [job for job in map(state.jobs.__getitem__, state.running) if job.type in op.types]
    moments += [job.leased_until for job in running if job.leased_until is not None]
    return max(0, min(moments) - now) if moments else None


def listen(state: State, op: Listen) -> int:
    state.listeners[op.listener] = state.now() + op.lease
    return state.event_seq


def unlisten(state: State, op: Unlisten) -> None:
    state.listeners.pop(op.listener, None)


def read_events(state: State, op: ReadEvents) -> list[EventRow]:
    return [event for event in state.events if event.seq > op.after][: op.limit]


def examine(state: State, op: Examine) -> list[Finding]:
    return [Finding("warning", "durability", "everything is lost when this process ends")]
