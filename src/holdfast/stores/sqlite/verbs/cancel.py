"""Cancel: end unfinished chains permanently."""

from __future__ import annotations

from holdfast.core.counters import CounterChange, minute_of
from holdfast.core.record import ChainRecord, Status
from holdfast.engine.operations import CancelChains
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import attempts, blockers, chains
from holdfast.stores.sqlite.verbs.audit import write_audit

_CANCEL = SQL["cancel"]


def cancel(context: PlanContext, operation: CancelChains) -> Plan[list[ChainRecord]]:
    current = yield from chains.need(list(dict.fromkeys(operation.chain_ids)))
    jobs = [chain.last for chain in current if not chain.last.status.finished]
    if operation.spare_running:
        jobs = [job for job in jobs if job.status is not Status.RUNNING]
    for job in jobs:
        if job.status is Status.RUNNING:
            yield attempts.end_attempt(context, job, "cancelled", operation.reason)
            context.hints.lost.add(job.id)
        yield Statement(_CANCEL, {"seq": job.seq, "reason": operation.reason, "now": context.now})
        context.count(CounterChange(job.type, minute_of(context.now), "cancelled", 1))
        context.hints.finished.add(job.chain_id)
        context.record("cancelled", job.id, job.chain_id, job.type, job.attempt)
    yield from write_audit(context, operation.audit, "cancel", [(job.chain_id, job.chain_id) for job in jobs])
    # After all cancellations: a chain of this list must end as cancelled, and not fail because of another one.
    for job in jobs:
        yield from blockers.broken(context, job.chain_id)
    if jobs:
        yield from announce_releases(context, SQL)
    return (yield from chains.need(operation.chain_ids))
