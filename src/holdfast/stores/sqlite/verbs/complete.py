"""Complete the current job of a chain without a claim."""

from __future__ import annotations

from holdfast.core.counters import CounterChange, minute_of
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Complete, LockChain, Settled, Start
from holdfast.errors import AlreadyCompleted
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import attempts, blockers, chains, start
from holdfast.stores.sqlite.verbs.audit import write_audit

_COMPLETE = SQL["complete"]


def lock(context: PlanContext, operation: LockChain) -> Plan[Record]:
    """Read the current job. SQLite has one writer, so the transaction already excludes other writers."""
    [chain] = yield from chains.need([operation.chain_id])
    return chain.last


def complete(context: PlanContext, operation: Complete) -> Plan[Settled]:
    [chain] = yield from chains.need([operation.chain_id])
    job = chain.last
    if job.id != operation.job_id or job.status.finished:
        raise AlreadyCompleted(operation.chain_id)
    yield from _check(context, operation)
    yield from write_audit(context, operation.audit, "complete", [(job.id, operation.chain_id)])
    if operation.starts:
        yield from start.start(context, Start(operation.starts))
    if operation.completions and job.status is Status.RUNNING:
        yield attempts.end_attempt(context, job, "lost", None)
        context.hints.lost.add(job.id)
    for completion in operation.completions:
        ends = completion.continuation is None
        if completion.continuation is not None:
            yield from start.add(context, completion.continuation)
        yield Statement(_COMPLETE, {"seq": job.seq, "output": completion.output, "now": context.now, "ends": ends})
        context.count(CounterChange(job.type, minute_of(context.now), "completed", 1))
        context.record("completed", job.id, job.chain_id, job.type, job.attempt)
        [chain] = yield from chains.need([operation.chain_id])
        job = chain.last
    yield from announce_releases(context, SQL)
    if operation.completions and operation.completions[-1].continuation is None:
        context.hints.finished.add(operation.chain_id)
        unblocked = yield from blockers.completed(context, [operation.chain_id])
        return Settled(unblocked=tuple(unblocked.get(operation.chain_id, ())))
    return Settled()


def _check(context: PlanContext, operation: Complete) -> Plan[None]:
    refused = yield from start.check_starts(context, operation.starts, operation.expected)
    for completion in operation.completions:
        if refused is None and completion.continuation is not None:
            refused = yield from start.check_continuation(completion.continuation, operation.starts, operation.expected)
    if refused is not None:
        raise refused
