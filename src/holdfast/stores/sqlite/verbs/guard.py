"""Guard: check that a claim is still held."""

from __future__ import annotations

from holdfast.core.lost_claims import LostReason, lost_reason
from holdfast.core.record import Claim
from holdfast.engine.operations import Guard
from holdfast.errors import ClaimLost
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL

HOLDERS = SQL["claims"]
_CLAIM = SQL["claim_of"]

NOT_FOUND = (None, None, None)
"""In place of a row of `claims`: the job does not exist."""


def guard(context: PlanContext, operation: Guard) -> Plan[None]:
    if reason := (yield from why_lost(operation.claim)):
        raise ClaimLost(operation.claim.job_id, reason)


def why_lost(claim: Claim) -> Plan[LostReason | None]:
    """Why a claim is no longer held; None while it is held."""
    rows = yield Statement(_CLAIM, {"id": claim.job_id})
    [(status, token)] = rows or [NOT_FOUND[1:]]
    return lost_reason(status, token, claim.token)
