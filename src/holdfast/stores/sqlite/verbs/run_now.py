"""Run now: make pending jobs due at once."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import RunNow
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import steps
from holdfast.stores.sqlite.verbs.audit import write_audit
from holdfast.stores.sqlite.verbs.get import existing, with_status

_RUN_NOW = SQL["run_now"]


def run_now(context: PlanContext, operation: RunNow) -> Plan[list[Record]]:
    jobs = yield from with_status(operation.job_ids, (Status.PENDING,), "pending")
    made_due: dict[str, Record] = {}
    for job in jobs:
        if (yield from steps.end_sleeps(context, job)) or not (yield from steps.waits_for(job)):
            made_due[job.id] = job
    later = [(job.id, job.chain_id) for job in made_due.values() if job.scheduled_at > context.now]
    yield from write_audit(context, operation.audit, "run_now", later)
    for job in made_due.values():
        yield Statement(_RUN_NOW, {"seq": job.seq, "now": context.now})
        context.hints.due.add(job.type)
        context.record("made_due", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return (yield from existing(operation.job_ids))
