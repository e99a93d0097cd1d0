"""Reap jobs whose lease has expired, and end the sessions of lost workers that still lock such jobs."""

from __future__ import annotations

from holdfast.core import lost_claims
from holdfast.core.permanent_failure import has_attempts_left
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Reap, Reaped
from holdfast.stores.postgres.plan import Commit, Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, has_record, split_record
from holdfast.stores.postgres.verbs import chain_ends, chains, locks
from holdfast.stores.postgres.verbs.hooks import start_hooks
from holdfast.stores.postgres.verbs.lost_sessions import end_lost_sessions
from holdfast.stores.sql.plan import Row, Statement

_REAP_EXPIRED = SQL["reap_expired"]
_REAP = SQL["reap"]


def reap(context: PlanContext, op: Reap) -> Plan[list[Reaped]]:
    yield from context.begin()
    rows = yield Statement(
        _REAP_EXPIRED,
        {
            "now": context.now,
            "types": list(op.types),
            "held_ids": [claim.job_id for claim in op.held],
            "held_tokens": [claim.token for claim in op.held],
            "limit": op.limit,
        },
    )
    skipped: list[int] = rows[0][-1]
    reaped = yield from _reap(context, [row for row in rows if has_record(row)])
    if skipped:
        yield Commit()
        yield from end_lost_sessions(context, skipped)
    return reaped


def _reap(context: PlanContext, expired: list[Row]) -> Plan[list[Reaped]]:
    jobs = yield from _with_free_dependents(expired)
    if not jobs:
        return []
    reaped = [_decide(context, job) for job, _ in jobs]
    yield Statement(
        _REAP,
        {
            "now": context.now,
            "seqs": [each.record.seq for each in reaped],
            "statuses": [each.record.status.value for each in reaped],
            "errors": [each.record.error for each in reaped],
        },
    )
    failed = [each.record for each in reaped if each.record.status is Status.FAILED]
    yield from start_hooks(context, failed)
    awaited = {job.id for job, is_awaited in jobs if is_awaited}
    yield from chain_ends.fail_dependents(context, [job.chain_id for job in failed if job.id in awaited])
    yield from context.write_events()
    return reaped


def _with_free_dependents(rows: list[Row]) -> Plan[list[tuple[Record, bool]]]:
    """The expired jobs, and whether other jobs wait for their chains.

    Leaves out jobs that would fail dependents which another transaction locks. The next reap tries them again. The rows
    were locked in no particular order, so waiting for a lock could cause a deadlock.
    """
    left: list[tuple[Record, bool]] = []
    for row in rows:
        job, (awaited, _) = split_record(row)
        if awaited and not has_attempts_left(job):
            locked = yield from locks.lock_free((yield from chains.affected_jobs([job.chain_id], "failing")))
            # Read again: a job may have become a dependent before the locks were taken.
            if (yield from chains.affected_jobs([job.chain_id], "failing")) - locked:
                continue
        left.append((job, awaited))
    return left


def _decide(context: PlanContext, job: Record) -> Reaped:
    reaped = lost_claims.reap(job, context.now)
    context.hints.lost.add(job.id)
    if reaped.status is Status.PENDING:
        context.hints.due.add(job.type)
        context.record("reaped", job.id, job.chain_id, job.type, job.attempt)
    else:
        context.hints.finished.add(job.chain_id)
        context.record("failed", job.id, job.chain_id, job.type, job.attempt)
    return Reaped(reaped, job.worker)
