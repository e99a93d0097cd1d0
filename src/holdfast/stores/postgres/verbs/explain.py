"""Explain: what decides whether a job is claimed."""

from __future__ import annotations

from holdfast.core.explanation import AHEAD_LIMIT, NAMED_BLOCKERS, JobFacts, OpenBlocker
from holdfast.core.record import Status
from holdfast.engine.operations import Explain
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, split_record, status
from holdfast.stores.postgres.verbs.messages import awaited_messages
from holdfast.stores.sql.plan import Statement

_EXPLAIN = SQL["explain"]
_BLOCKERS = SQL["explain_blockers"]


def explain(context: PlanContext, op: Explain) -> Plan[JobFacts | None]:
    parameters = {"now": context.clock, "id": op.id, "current": op.current, "limit": AHEAD_LIMIT}
    rows = yield Statement(_EXPLAIN, parameters)
    if not rows:
        return None
    job, (now, paused, ahead) = split_record(rows[0])
    blockers: list[OpenBlocker] = []
    if job.status is Status.BLOCKED:
        rows = yield Statement(_BLOCKERS, {"job_id": job.id, "limit": NAMED_BLOCKERS})
        blockers = [OpenBlocker(chain_id, type, status(text)) for chain_id, type, text in rows]
    messages: list[str] = []
    if job.status is Status.PENDING and job.scheduled_at > now:
        messages = (yield from awaited_messages([job.id])).get(job.id, [])
    return JobFacts(job, now, paused, ahead, tuple(blockers), tuple(messages))
