"""Guard a claim: keep it valid until the end of the transaction."""

from __future__ import annotations

from holdfast.core.lost_claims import lost_reason
from holdfast.engine.operations import Guard
from holdfast.errors import ClaimLost
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_GUARD = SQL["guard"]
_GUARD_LOST = SQL["guard_lost"]


def guard(context: PlanContext, op: Guard) -> Plan[None]:
    if (yield Statement(_GUARD, {"id": op.claim.job_id, "token": op.claim.token})):
        return
    rows = yield Statement(_GUARD_LOST, {"id": op.claim.job_id})
    status, token = rows[0] if rows else (None, None)
    raise ClaimLost(op.claim.job_id, lost_reason(status, token, op.claim.token) or "taken_by_another_worker")
