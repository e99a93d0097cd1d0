"""Reap: end the attempts of running jobs whose lease expired."""

from __future__ import annotations

from holdfast.core import lost_claims
from holdfast.core.clock import Micros
from holdfast.core.error_groups import lost_lease
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Reap, Reaped
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.chain_ends import chain_broken, start_hook


def reap(state: State, op: Reap) -> list[Reaped]:
    now = state.now()
    held = set(op.held)
    expired = sorted(
        (job.leased_until or 0, job.seq, job)
        for job in map(state.jobs.__getitem__, state.running)
        if job.type in op.types and (job.leased_until or 0) <= now and job.claim not in held
    )
    return [_reap(state, job, now) for *_, job in expired[: op.limit]]


def _reap(state: State, job: Record, now: Micros) -> Reaped:
    reaped = lost_claims.reap(job, now)
    state.hints.lost.add(job.id)
    if reaped.status is Status.PENDING:
        state.end_attempt(job, "lost", reaped.error, now)
        state.put(reaped, "reaped")
        counting.count(state, job, "reaped", now, lost_lease(job.type))
    else:
        state.end_attempt(job, "lost", reaped.error)
        state.put(reaped, "failed")
        counting.count(state, job, "reaped", now)
        counting.count(state, job, "failed", now, lost_lease(job.type))
        start_hook(state, reaped, now)
        chain_broken(state, job.chain_id, now)
    return Reaped(reaped, job.worker)
