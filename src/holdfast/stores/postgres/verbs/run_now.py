"""Make pending jobs due at once."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.core.record import Record
from holdfast.engine.operations import RunNow
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.job_locks import lock_jobs, updated_records
from holdfast.stores.sql.plan import Statement

_RUN_NOW = SQL["run_now"]


def run_now(execution: Execution, op: RunNow, *, since: Micros | None = None) -> Plan[list[Record]]:
    """`since` is the time of a try whose answer was lost: a job that started after it was made due by that try."""
    yield from execution.begin()
    jobs, _ = yield from lock_jobs(execution, op.job_ids, ("pending",), wanted="pending", blockers=False, since=since)
    pending = [job for job in jobs.values() if job.status == "pending"]
    yield Statement(_RUN_NOW, {"seqs": [job.seq for job in pending], "now": execution.now})
    for job in pending:
        execution.hints.due.add(job.type)
        execution.record("hurried", job.id, job.chain_id, job.type, job.attempt, job.worker)
    execution.marks.forget()
    return (yield from updated_records(execution, op.job_ids, jobs))
