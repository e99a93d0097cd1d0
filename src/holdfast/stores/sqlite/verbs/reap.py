"""Reap: return jobs with an expired lease to pending, or fail them."""

from __future__ import annotations

from holdfast.core import lost_claims
from holdfast.core.counters import CounterChange, Kind, minute_of
from holdfast.core.error_groups import lost_lease
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Reap, Reaped
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, record
from holdfast.stores.sqlite.verbs import attempts, blockers

_EXPIRED = SQL["reap_expired"]
_REAP_PENDING = SQL["reap_pending"]
_REAP_FAILED = SQL["reap_failed"]


def reap(context: PlanContext, operation: Reap) -> Plan[list[Reaped]]:
    held = set(operation.held)
    expired: list[Record] = []
    for type in dict.fromkeys(operation.types):
        # The claims in `held` are left out below, so read that many more.
        limit = operation.limit + len(held)
        rows = yield Statement(_EXPIRED, {"type": type, "now": context.now, "limit": limit})
        expired += [job for job in map(record, rows) if job.claim not in held]
    expired.sort(key=lambda job: (job.leased_until or 0, job.seq))
    reaped: list[Reaped] = []
    for job in expired[: operation.limit]:
        each = yield from _reap(context, job)
        reaped.append(each)
    return reaped


def _reap(context: PlanContext, job: Record) -> Plan[Reaped]:
    reaped = lost_claims.reap(job, context.now)
    context.hints.lost.add(job.id)
    parameters = {"seq": job.seq, "token": job.token, "error": reaped.error, "now": context.now}
    if reaped.status is Status.PENDING:
        yield attempts.end_attempt(context, job, "lost", reaped.error, context.now)
        yield Statement(_REAP_PENDING, parameters)
        context.count(_change(context, job, "reaped"), job.id, lost_lease(job.type))
        context.hints.due.add(job.type)
        context.record("reaped", job.id, job.chain_id, job.type, job.attempt)
    else:
        yield attempts.end_attempt(context, job, "lost", reaped.error)
        failure = lost_lease(job.type)
        yield Statement(_REAP_FAILED, parameters | {"fingerprint": failure.fingerprint})
        context.count(_change(context, job, "reaped"))
        context.count(_change(context, job, "failed"), job.id, failure)
        context.hints.finished.add(job.chain_id)
        context.record("failed", job.id, job.chain_id, job.type, job.attempt)
        yield from blockers.start_hook(context, reaped)
        yield from blockers.broken(context, job.chain_id)
    return Reaped(reaped, job.worker)


def _change(context: PlanContext, job: Record, kind: Kind) -> CounterChange:
    return CounterChange(job.type, minute_of(context.now), kind, 1, at=context.now)
