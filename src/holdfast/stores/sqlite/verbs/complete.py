"""Complete a chain's current job from outside."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import Complete, LockChain, Settled, Start
from holdfast.errors import AlreadyCompleted
from holdfast.stores.sql.plan import Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import chains, start

_COMPLETE = SQL["complete"]


def lock(turn: Turn, op: LockChain) -> Plan[Record]:
    """Nothing to lock: whoever is in a transaction here is the only one who writes."""
    [chain] = yield from chains.need([op.chain_id])
    return chain.last


def complete(turn: Turn, op: Complete) -> Plan[Settled]:
    [chain] = yield from chains.need([op.chain_id])
    job = chain.last
    if job.id != op.job_id or job.status.finished:
        raise AlreadyCompleted(op.chain_id)
    yield from _check(turn, op)
    if op.starts:
        yield from start.start(turn, Start(op.starts))
    if op.completions and job.status is Status.RUNNING:
        yield chains.end_attempt(turn, job, "lost", None)
        turn.hints.lost.add(job.id)
    for completion in op.completions:
        ends = completion.continuation is None
        if completion.continuation is not None:
            yield from start.add(turn, completion.continuation)
        yield Statement(_COMPLETE, {"seq": job.seq, "output": completion.output, "now": turn.now, "ends": ends})
        turn.record("completed", job.id, job.chain_id, job.type, job.attempt)
        [chain] = yield from chains.need([op.chain_id])
        job = chain.last
    if op.completions and op.completions[-1].continuation is None:
        turn.hints.finished.add(op.chain_id)
        return Settled(unblocked=tuple((yield from chains.completed(turn, op.chain_id))))
    return Settled()


def _check(turn: Turn, op: Complete) -> Plan[None]:
    refused = yield from start.check_starts(turn, op.starts, op.expected)
    for completion in op.completions:
        if refused is None and completion.continuation is not None:
            refused = yield from start.check_continuation(completion.continuation, op.starts, op.expected)
    if refused is not None:
        raise refused
