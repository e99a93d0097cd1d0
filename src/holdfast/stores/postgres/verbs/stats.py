"""Count jobs by type and status."""

from __future__ import annotations

from holdfast.engine.operations import GetStats, TypeStats
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement
from holdfast.stores.sql.type_stats import type_stats

_GET_STATS = SQL["get_stats"]


def get_stats(context: PlanContext, op: GetStats) -> Plan[list[TypeStats]]:
    return type_stats((yield Statement(_GET_STATS, {"now": context.clock})))
