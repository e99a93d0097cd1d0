"""When the next job of some types is due, or the next lease expires."""

from __future__ import annotations

from holdfast.core.clock import Micros
from holdfast.engine.operations import NextDue
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_NEXT_DUE = SQL["next_due"]


def next_due(context: PlanContext, op: NextDue) -> Plan[Micros | None]:
    rows = yield Statement(_NEXT_DUE, {"types": list(op.types), "now": context.clock})
    return rows[0][0] if rows else None
