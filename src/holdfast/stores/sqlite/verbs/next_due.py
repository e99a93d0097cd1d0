"""Next due: when a job becomes due, or a lease expires."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.engine.operations import NextDue
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json

_PENDING = SQL["next_due_pending"]
_LEASED = SQL["next_due_leased"]
_LANES = SQL["next_lanes"]


def next_due(context: PlanContext, operation: NextDue) -> Plan[Micros | None]:
    types = {"types": as_json(operation.types)}
    [(pending,)] = yield Statement(_PENDING, types)
    [(leased,)] = yield Statement(_LEASED, types)
    [(lanes,)] = yield Statement(_LANES, types)
    moments = [moment for moment in (pending, leased, lanes) if moment is not None]
    return max(0, min(moments) - context.now) if moments else None
