"""Complete: end the current job of a chain from outside."""

from __future__ import annotations

from holdfast.core.record import NOT_HELD, Record, Status
from holdfast.engine.operations import Complete, LockChain, Settled, Start
from holdfast.errors import AlreadyCompleted
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit
from holdfast.stores.memory.verbs.chain_ends import chain_completed
from holdfast.stores.memory.verbs.start import add, check_continuation, check_starts, start


def lock(state: State, op: LockChain) -> Record:
    return state.need_chain(op.chain_id).last


def complete(state: State, op: Complete) -> Settled:
    job = state.need_chain(op.chain_id).last
    if job.id != op.job_id or job.status.finished:
        raise AlreadyCompleted(op.chain_id)
    refused = check_starts(state, op.starts, op.expected)
    for completion in op.completions:
        if refused is None and completion.continuation is not None:
            refused = check_continuation(state, completion.continuation, op.starts, op.expected)
    if refused is not None:
        raise refused
    write_audit(state, op.audit, "complete", [(job.id, op.chain_id)])
    start(state, Start(op.starts))
    now = state.now()
    if op.completions and job.status is Status.RUNNING:
        state.end_attempt(job, "lost", None)
        state.hints.lost.add(job.id)
    for completion in op.completions:
        if completion.continuation is not None:
            add(state, completion.continuation, now)
            counting.count_started(state, {completion.continuation.type: 1}, now)
        changes = NOT_HELD | {"status": Status.COMPLETED, "finished_at": now}
        state.change(job, "completed", **changes, output=completion.output, error=None)
        counting.count(state, job, "completed", now)
        job = state.need_chain(op.chain_id).last
    if op.completions and op.completions[-1].continuation is None:
        return Settled(unblocked=tuple(chain_completed(state, op.chain_id, now)))
    return Settled()
