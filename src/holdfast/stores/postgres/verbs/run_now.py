"""Make pending jobs due at once."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.core.record import Record
from holdfast.engine.operations import RunNow
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.postgres.verbs.job_locks import lock_jobs, updated_records
from holdfast.stores.postgres.verbs.messages import awaited_messages
from holdfast.stores.postgres.verbs.steps import end_sleeps
from holdfast.stores.sql.plan import Statement

_RUN_NOW = SQL["run_now"]


def run_now(context: PlanContext, op: RunNow, *, since: Micros | None = None) -> Plan[list[Record]]:
    """`since` is the time of a try whose answer was lost. If a job started after this time, that try made it due."""
    yield from context.begin()
    jobs, _ = yield from lock_jobs(context, op.job_ids, ("pending",), wanted="pending", blockers=False, since=since)
    ids = [job.id for job in jobs.values() if job.status == "pending"]
    awaiting = (yield from awaited_messages(ids)).keys() - (yield from end_sleeps(context, ids))
    pending = [job for job in jobs.values() if job.status == "pending" and job.id not in awaiting]
    update = Statement(_RUN_NOW, {"seqs": [job.seq for job in pending], "now": context.now})
    changed: dict[str, str] = dict((yield update))
    named = [(id, changed[id]) for id in dict.fromkeys(op.job_ids) if id in changed]
    yield from write_audit(context, op.audit, "run_now", named)
    for job in pending:
        context.hints.due.add(job.type)
        context.record("made_due", job.id, job.chain_id, job.type, job.attempt, job.worker)
    context.scan_starts.forget()
    return (yield from updated_records(context, op.job_ids, jobs))
