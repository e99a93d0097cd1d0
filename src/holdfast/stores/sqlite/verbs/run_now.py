"""Run now: make pending jobs due at once."""

from __future__ import annotations

from holdfast.core.record import Record, Status
from holdfast.engine.operations import RunNow
from holdfast.stores.sql.plan import Execution, Plan, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs.get_jobs import existing, with_status

_RUN_NOW = SQL["run_now"]


def run_now(execution: Execution, operation: RunNow) -> Plan[list[Record]]:
    jobs = yield from with_status(operation.job_ids, (Status.PENDING,), "pending")
    for job in jobs:
        yield Statement(_RUN_NOW, {"seq": job.seq, "now": execution.now})
        execution.hints.due.add(job.type)
        execution.record("hurried", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return (yield from existing(operation.job_ids))
