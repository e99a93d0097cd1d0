"""Claim: hand out due jobs, best first."""

from __future__ import annotations

import heapq

from msgspec.structs import replace

from holdfast.core.clock import Micros
from holdfast.core.record import Record, Status
from holdfast.engine.operations import ClaimJobs
from holdfast.stores.memory.state import State


def claim(state: State, op: ClaimJobs) -> list[Record]:
    if op.again and (claimed_before := _claimed_before(state, op.token)):
        return claimed_before
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
    held = [job for job in state.jobs.values() if job.status is Status.RUNNING and job.token == token]
    return sorted(held, key=lambda job: (-job.priority, job.scheduled_at, job.seq))


def _promote(state: State, name: str, now: Micros) -> None:
    """Move jobs that are now due from the heap ordered by time to the heap ordered by priority."""
    scheduled = state.scheduled[name]
    while scheduled and scheduled[0][0] <= now:
        due, seq, job_id = heapq.heappop(scheduled)
        if state.pending_at(due, seq, job_id):
            heapq.heappush(state.due[name], (-state.jobs[job_id].priority, due, seq, job_id))
