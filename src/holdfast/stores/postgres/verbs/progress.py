"""Report the progress of an attempt."""

from __future__ import annotations

from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.engine.operations import ReportProgress
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_PROGRESS = SQL["progress"]


def progress(context: PlanContext, op: ReportProgress) -> Plan[LostReason | None]:
    rows = yield Statement(
        _PROGRESS,
        {
            "now": context.clock,
            "id": op.claim.job_id,
            "token": op.claim.token,
            "fraction": op.fraction,
            "note": op.note,
        },
    )
    status, token, recorded = rows[0] if rows else (None, None, False)
    context.hints.recorded |= recorded
    return lost_reason(status, token, op.claim.token)
