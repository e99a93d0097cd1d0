"""Claim, renew, settle, reap: what a worker does."""

from __future__ import annotations

import heapq
from typing import Any

from msgspec.structs import replace

from holdfast.core import lost_claims
from holdfast.core.clock import Micros
from holdfast.core.lifecycle import Settlement
from holdfast.core.record import Claim, Record, Status
from holdfast.engine.operations import (
    ClaimJobs,
    Guard,
    LostReason,
    Reap,
    Reaped,
    Renew,
    ReportProgress,
    Settle,
    Settled,
    Start,
)
from holdfast.errors import ClaimLost
from holdfast.stores.memory import start
from holdfast.stores.memory.state import State

_WRITTEN = Settled()


def claim(state: State, op: ClaimJobs) -> list[Record]:
    if op.again and (taken := _claimed_before(state, op.token)):
        return taken
    state.change_indexes()
    now = state.now()
    terms = {terms.type: terms for terms in op.types if terms.type not in state.paused}
    for name in terms:
        _promote(state, name, now)
    claimed: list[Record] = []
    heads = [(heap[0], name) for name in terms if (heap := state.due_heap(name))]
    heapq.heapify(heads)
    while heads and len(claimed) < op.limit:
        (_, _, _, job_id), name = heads[0]
        heapq.heappop(state.due[name])
        job = state.jobs[job_id]
        limit = terms[name].max_attempts if job.max_attempts is None else job.max_attempts
        job = replace(
            job,
            status=Status.RUNNING,
            attempt=job.attempt + 1,
            max_attempts=limit,
            worker=op.worker,
            token=op.token,
            leased_until=now + terms[name].lease,
            renewed_at=now,
            started_at=now,
            progress=None,
            progress_note=None,
        )
        state.put(job, "claimed")
        claimed.append(job)
        if heap := state.due_heap(name):
            heapq.heapreplace(heads, (heap[0], name))
        else:
            heapq.heappop(heads)
    return claimed


def _claimed_before(state: State, token: str) -> list[Record]:
    taken = [job for job in state.jobs.values() if job.status is Status.RUNNING and job.token == token]
    return sorted(taken, key=lambda job: (-job.priority, job.scheduled_at, job.seq))


def renew(state: State, op: Renew) -> dict[Claim, LostReason]:
    now = state.now()
    lost: dict[Claim, LostReason] = {}
    for held, lease in op.claims:
        job = state.jobs.get(held.job_id)
        if reason := state.lost(job, held.token):
            lost[held] = reason
        elif job is not None:
            state.set(state.jobs, job.id, replace(job, leased_until=now + lease, renewed_at=now))
    return lost


def settle(state: State, op: Settle) -> list[Settled]:
    now = state.now()
    return [_settle(state, settlement, now) for settlement in op.settlements]


def guard(state: State, op: Guard) -> None:
    if reason := state.lost(state.jobs.get(op.claim.job_id), op.claim.token):
        raise ClaimLost(op.claim.job_id, reason)


def progress(state: State, op: ReportProgress) -> LostReason | None:
    job = state.jobs.get(op.claim.job_id)
    reason = state.lost(job, op.claim.token)
    if reason is None and job is not None:
        state.set(state.jobs, job.id, replace(job, progress=op.fraction, progress_note=op.note))
        state.record(job, "progressed")
    return reason


def reap(state: State, op: Reap) -> list[Reaped]:
    now = state.now()
    held = set(op.held)
    expired = sorted(
        (job.leased_until or 0, job.seq, job)
        for job in map(state.jobs.__getitem__, state.running)
        if job.type in op.types and (job.leased_until or 0) <= now and job.claim not in held
    )
    return [_take_back(state, job, now) for *_, job in expired[: op.limit]]


def _take_back(state: State, job: Record, now: Micros) -> Reaped:
    reaped = lost_claims.reap(job, now)
    state.hints.lost.add(job.id)
    if reaped.status is Status.PENDING:
        state.end_attempt(job, "lost", reaped.error, now)
        state.put(reaped, "reaped")
    else:
        state.end_attempt(job, "lost", reaped.error)
        state.put(reaped, "failed")
        state.chain_broken(job.chain_id, now)
    return Reaped(reaped, job.worker)


def _settle(state: State, settlement: Settlement, now: Micros) -> Settled:
    job_id, settled_by = settlement.claim
    job = state.jobs.get(job_id)
    if reason := state.lost(job, settled_by):
        written = job is not None and (job.token, job.status) == (settled_by, settlement.status)
        return _WRITTEN if written else Settled(lost=reason)
    assert job is not None
    if settlement.keep is not None:
        job = replace(job, keep=settlement.keep)
    next_job = settlement.continuation
    refused = start.check_starts(state, settlement.starts, settlement.expected) if settlement.starts else None
    if refused is None and next_job is not None:
        refused = start.check_continuation(state, next_job, settlement.starts, settlement.expected)
    if refused is not None:
        return Settled(refused=refused)
    if settlement.starts:
        start.start(state, Start(settlement.starts))
    match settlement.status:
        case Status.COMPLETED:
            if next_job is not None:
                start.add(state, next_job)
            done = replace(
                job,
                status=Status.COMPLETED,
                output=settlement.output,
                error=None,
                finished_at=now,
                leased_until=None,
                renewed_at=None,
                mismatches=None,
                mismatched_at=None,
            )
            state.put(done, "completed")
            if next_job is None and job.chain_id in state.dependents:
                return Settled(unblocked=tuple(state.chain_completed(job.chain_id, now)))
        case Status.PENDING if settlement.outcome == "released":
            state.end_attempt(job, "released", None, job.scheduled_at)
            state.change(job, "released", status=Status.PENDING, attempt=job.attempt - 1, **_let_go(token=settled_by))
        case Status.PENDING if settlement.outcome == "mismatched":
            due = max(now, now + settlement.delay)
            state.end_attempt(job, "mismatched", settlement.error, due)
            since = now if job.mismatched_at is None else job.mismatched_at
            ended = _let_go(token=settled_by) | {"mismatches": (job.mismatches or 0) + 1, "mismatched_at": since}
            state.change(
                job, "mismatched", status=Status.PENDING, attempt=job.attempt - 1, error=settlement.error,
                scheduled_at=due, **ended,
            )  # fmt: skip
        case Status.PENDING:
            due = max(now, now + settlement.delay if settlement.at is None else settlement.at)
            state.end_attempt(job, settlement.outcome, settlement.error, due)
            kind = settlement.outcome if settlement.outcome == "rescheduled" else "retrying"
            state.change(
                job, kind, status=Status.PENDING, error=settlement.error, scheduled_at=due, **_let_go(token=settled_by)
            )
        case ended:
            state.end_attempt(job, settlement.outcome, settlement.error)
            counted = job.attempt - (settlement.outcome == "mismatched")
            state.change(
                job, str(ended), status=ended, attempt=counted, error=settlement.error, finished_at=now,
                **_let_go(token=settled_by),
            )  # fmt: skip
            state.chain_broken(job.chain_id, now)
    return _WRITTEN


def _let_go(token: str | None = None) -> dict[str, Any]:
    # A settled job keeps the token it was settled under, so that a settlement sent again is known.
    return {
        "worker": None, "token": token, "leased_until": None, "renewed_at": None,
        "mismatches": None, "mismatched_at": None,
    }  # fmt: skip


def _promote(state: State, name: str, now: Micros) -> None:
    """Move what has become due from the heap ordered by time to the one ordered by rank."""
    scheduled = state.scheduled[name]
    while scheduled and scheduled[0][0] <= now:
        due, seq, job_id = heapq.heappop(scheduled)
        if state.pending_at(due, seq, job_id):
            heapq.heappush(state.due[name], (-state.jobs[job_id].priority, due, seq, job_id))
