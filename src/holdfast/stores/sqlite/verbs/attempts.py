"""The history of a job: attempts that ended without completing it."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.core.record import Record
from holdfast.engine.operations import GetHistory, PastAttempt
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record

_INSERT = SQL["insert_attempt"]
_HISTORY = SQL["get_history"]
_GET_JOBS = SQL["get_jobs"]


def get_history(context: PlanContext, operation: GetHistory) -> Plan[tuple[Record, list[PastAttempt]] | None]:
    rows = yield Statement(_GET_JOBS, {"ids": as_json([operation.job_id])})
    if not rows:
        return None
    past = yield Statement(_HISTORY, {"job_id": operation.job_id})
    return record(rows[0]), [PastAttempt(*row) for row in past]


def end_attempt(
    context: PlanContext, job: Record, outcome: str, error: bytes | None, next_at: Micros | None = None
) -> Statement:
    """Write an attempt to the history. The next claim overwrites its columns in the job's row."""
    return past_attempt(context, job.id, job.attempt, job.worker, job.started_at, outcome, error, next_at)


def past_attempt(
    context: PlanContext,
    job_id: str,
    number: int,
    worker: str | None,
    started_at: Micros | None,
    outcome: str,
    error: bytes | None,
    next_at: Micros | None,
) -> Statement:
    return Statement(
        _INSERT,
        {
            "job_id": job_id,
            "number": number,
            "worker": worker,
            "started_at": started_at,
            "now": context.now,
            "outcome": outcome,
            "error": error,
            "next_at": next_at,
        },
    )
