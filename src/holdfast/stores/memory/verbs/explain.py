"""Explain: what decides whether a job is claimed."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.core.explanation import AHEAD_LIMIT, NAMED_BLOCKERS, JobFacts, OpenBlocker
from holdfast.core.reasons import is_due
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Explain
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.steps import waits_for


def explain(state: State, op: Explain) -> JobFacts | None:
    chain = state.chain(op.id) if op.current else None
    job = state.jobs.get(op.id) if chain is None else chain.last
    if job is None:
        return None
    now = state.now()
    ahead = _ahead(state, job, now) if is_due(job, now) else 0
    messages = waits_for(state, job) if job.scheduled_at > now else ()
    return JobFacts(job, now, job.type in state.paused, ahead, _open_blockers(state, job), messages)


def _ahead(state: State, job: Record, now: Micros) -> int:
    """How many due jobs of its type without lanes are in front of it. A job with lanes may have to wait."""
    rank, laned = _rank(job), state.lanes.of
    others = (
        other
        for other in state.jobs.values()
        if other.type == job.type and is_due(other, now) and other.id not in laned
    )
    return min(AHEAD_LIMIT, sum(_rank(other) < rank for other in others))


def _rank(job: Record) -> tuple[int, Micros, int]:
    return -job.priority, job.scheduled_at, job.seq


def _open_blockers(state: State, job: Record) -> tuple[OpenBlocker, ...]:
    if job.status is not Status.BLOCKED:
        return ()
    chains = (state.need_chain(chain_id) for chain_id in state.blockers.get(job.id, ()))
    found = [OpenBlocker(chain.first.id, chain.first.type, chain.last.status) for chain in chains]
    return tuple([each for each in found if each.status is not Status.COMPLETED][:NAMED_BLOCKERS])
