"""Progress: store how far an attempt has come."""

from __future__ import annotations

from holdfast.core.lost_claims import LostReason
from holdfast.engine.operations import ReportProgress
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs.guard import why_lost

_PROGRESS = SQL["progress"]
_GET_JOBS = SQL["get_jobs"]


def progress(context: PlanContext, operation: ReportProgress) -> Plan[LostReason | None]:
    reason = yield from why_lost(operation.claim)
    if reason is None:
        job_id, token = operation.claim
        yield Statement(
            _PROGRESS, {"id": job_id, "token": token, "fraction": operation.fraction, "note": operation.note}
        )
        if context.listening:
            [job] = [record(row) for row in (yield Statement(_GET_JOBS, {"ids": as_json([job_id])}))]
            context.record("progressed", job.id, job.chain_id, job.type, job.attempt, job.worker)
    return reason
