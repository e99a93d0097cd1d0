"""Get stats: count the jobs per type and status."""

from __future__ import annotations

from holdfast.engine.operations import GetStats, TypeStats
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sql.type_stats import type_stats
from holdfast.stores.sqlite.rows import SQL

_TOTAL = SQL["stats_total"]
_SCHEDULED = SQL["stats_scheduled"]
_LANED = SQL["stats_laned"]
_COUNTED = SQL["stats_counted"]


def get_stats(context: PlanContext, operation: GetStats) -> Plan[list[TypeStats]]:
    rows = yield Statement(_TOTAL)
    rows += yield Statement(_SCHEDULED, {"now": context.now})
    rows += yield Statement(_LANED, {"now": context.now})
    rows += yield Statement(_COUNTED)
    return type_stats(rows)
