"""Renew the leases of claims."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import Claim
from holdfast.engine.operations import Renew
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_RENEW = SQL["renew"]
_RENEW_PAUSE = SQL["renew_pause"]

RENEW_ROUNDS = 20
"""How often a renewal tries again to lock rows that another transaction holds. A row that is still locked after that
cannot be claimed by another worker in the meantime. The next renewal reports what happened to it."""


def renew(context: PlanContext, op: Renew) -> Plan[dict[Claim, LostReason]]:
    reasons: dict[Claim, LostReason] = {}
    left = list(op.claims)
    for _ in range(RENEW_ROUNDS):
        if not left:
            break
        rows = yield Statement(
            _RENEW,
            {
                "now": context.clock,
                "ids": [claim.job_id for claim, _ in left],
                "tokens": [claim.token for claim, _ in left],
                "leases": [lease for _, lease in left],
            },
        )
        states = {id: (status, token, renewed) for id, status, token, renewed in rows}
        locked: list[tuple[Claim, Micros]] = []
        for claim, lease in left:
            status, token, renewed = states.get(claim.job_id, (None, None, False))
            if reason := lost_reason(status, token, claim.token):
                reasons[claim] = reason
            elif not renewed:
                locked.append((claim, lease))
        if left := locked:
            yield Statement(_RENEW_PAUSE)
    return reasons
