"""Explain: what decides whether a job is claimed."""

from __future__ import annotations

from typing import Any

from holdfast.core.explanation import AHEAD_LIMIT, NAMED_BLOCKERS, JobFacts, OpenBlocker
from holdfast.core.reasons import is_due
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Explain
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, split_record
from holdfast.stores.sqlite.verbs import steps

_JOB = SQL["explain_job"]
_EARLIER = SQL["explain_earlier"]
_OLDER = SQL["explain_older"]
_NEXT_PRIORITY = SQL["explain_next_priority"]
_BLOCKERS = SQL["explain_blockers"]


def explain(context: PlanContext, operation: Explain) -> Plan[JobFacts | None]:
    rows = yield Statement(_JOB, {"id": operation.id, "current": operation.current})
    if not rows:
        return None
    job, (paused,) = split_record(rows[0])
    ahead = (yield from _ahead(context, job)) if is_due(job, context.now) else 0
    blockers: list[OpenBlocker] = []
    if job.status is Status.BLOCKED:
        rows = yield Statement(_BLOCKERS, {"job_id": job.id, "limit": NAMED_BLOCKERS})
        blockers = [OpenBlocker(chain_id, type, Status(status)) for chain_id, type, status in rows]
    waiting = job.status is Status.PENDING and job.scheduled_at > context.now
    messages = (yield from steps.waits_for(job)) if waiting else ()
    return JobFacts(job, context.now, bool(paused), ahead, tuple(blockers), messages)


def _ahead(context: PlanContext, job: Record) -> Plan[int]:
    """Count the due jobs of the type that a claim prefers: in its own priority, then in each higher one."""
    level: dict[str, Any] = {
        "type": job.type,
        "priority": job.priority,
        "scheduled_at": job.scheduled_at,
        "limit": AHEAD_LIMIT,
    }
    ahead = 0
    for statement in (_EARLIER, _OLDER):
        [(before,)] = yield Statement(statement, level | {"seq": job.seq})
        ahead += before
    while ahead < AHEAD_LIMIT:
        [(level["priority"],)] = yield Statement(_NEXT_PRIORITY, {"type": job.type, "priority": level["priority"]})
        if level["priority"] is None:
            break
        [(due,)] = yield Statement(_EARLIER, level | {"scheduled_at": context.now + 1})
        ahead += due
    return min(ahead, AHEAD_LIMIT)
