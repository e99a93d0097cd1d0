"""Replace: change a chain that has not begun, for a start with the same key."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from holdfast.core.lifecycle import NewJob
from holdfast.core.replacing import new_details
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, record
from holdfast.stores.sqlite.verbs.blocking import end_at_once, name_blockers, wait_for

_MAY_REPLACE = SQL["may_replace"]
_REPLACE = SQL["replace"]
_FORGET_BLOCKERS = SQL["forget_blockers"]


def replace_chain(context: PlanContext, chain_id: str, job: NewJob) -> Plan[None]:
    """Give the chain the input and the options of this start. A chain that has begun is not changed."""
    rows = yield Statement(_MAY_REPLACE, {"id": chain_id, "type": job.type, "key": job.key})
    if not rows:
        return
    waiting = yield from wait_for(job)
    now = context.now
    yield Statement(
        _REPLACE,
        {
            **asdict(job),
            "id": chain_id,
            "status": "blocked" if waiting.open_blockers else "pending",
            "details": new_details(record(rows[0]), job),
            "blockers": len(job.after),
            "open_blockers": waiting.open_blockers,
            "due": now + job.delay if job.at is None else job.at,
            "within": job.due_within,
            "now": now,
        },
    )
    yield Statement(_FORGET_BLOCKERS, {"job_id": chain_id})
    yield from name_blockers(chain_id, job.after)
    if not waiting.open_blockers:
        context.hints.due.add(job.type)
    context.record("replaced", chain_id, chain_id, job.type, 0)
    yield from end_at_once(context, replace(job, id=chain_id, chain_id=chain_id), waiting)
