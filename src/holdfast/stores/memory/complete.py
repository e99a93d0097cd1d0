"""Complete a chain's current job from outside."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import Complete, LockChain, Settled, Start
from holdfast.errors import AlreadyCompleted
from holdfast.stores.memory import start
from holdfast.stores.memory.state import State


def lock(state: State, op: LockChain) -> Record:
    return state.need_chain(op.chain_id).last


def complete(state: State, op: Complete) -> Settled:
    job = state.need_chain(op.chain_id).last
    if job.id != op.job_id or job.status.finished:
        raise AlreadyCompleted(op.chain_id)
    refused = start.check_starts(state, op.starts, op.expected)
    for step in op.steps:
        if refused is None and step.continuation is not None:
            refused = start.check_continuation(state, step.continuation, op.starts, op.expected)
    if refused is not None:
        raise refused
    start.start(state, Start(op.starts))
    now = state.now()
    if op.steps and job.status is Status.RUNNING:
        state.end_attempt(job, "lost", None)
        state.hints.lost.add(job.id)
    for step in op.steps:
        if step.continuation is not None:
            start.add(state, step.continuation)
        state.change(
            job,
            "completed",
            status=Status.COMPLETED,
            output=step.output,
            error=None,
            worker=None,
            token=None,
            leased_until=None,
            renewed_at=None,
            mismatches=None,
            mismatched_at=None,
            finished_at=now,
        )
        job = state.need_chain(op.chain_id).last
    if op.steps and op.steps[-1].continuation is None:
        return Settled(unblocked=tuple(state.chain_completed(op.chain_id, now)))
    return Settled()
