"""Renew: extend the leases of claims."""

from __future__ import annotations

from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import Claim
from holdfast.engine.operations import Renew
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs.guard import HOLDERS, NOT_FOUND

_RENEW = SQL["renew"]


def renew(context: PlanContext, operation: Renew) -> Plan[dict[Claim, LostReason]]:
    rows = yield Statement(HOLDERS, {"ids": as_json(claim.job_id for claim, _ in operation.claims)})
    found = {row[0]: row for row in rows}
    lost: dict[Claim, LostReason] = {}
    renewed: list[dict[str, object]] = []
    for claim, lease in operation.claims:
        _, status, token = found.get(claim.job_id, NOT_FOUND)
        if reason := lost_reason(status, token, claim.token):
            lost[claim] = reason
        else:
            until = context.now + lease
            renewed.append({"id": claim.job_id, "token": claim.token, "leased_until": until, "now": context.now})
    if renewed:
        yield Many(_RENEW, renewed)
    return lost
