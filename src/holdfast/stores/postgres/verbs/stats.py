"""Count jobs by type and status."""

from __future__ import annotations

from holdfast.core.record import Status
from holdfast.engine.operations import GetStats, TypeStats
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, status
from holdfast.stores.sql.plan import Row, Statement

_GET_STATS = SQL["get_stats"]


def get_stats(context: PlanContext, op: GetStats) -> Plan[list[TypeStats]]:
    by_type: dict[str, dict[str, Row]] = {}
    for row in (yield Statement(_GET_STATS, {"now": context.clock})):
        by_type.setdefault(row[0], {})[row[1]] = row[2:]
    return [_type_stats(type, rows) for type, rows in sorted(by_type.items()) if "paused" in rows or rows["all"][0]]


def _type_stats(type: str, rows: dict[str, Row]) -> TypeStats:
    counts = {status(name): row[0] for name, row in rows.items() if name not in ("all", "paused")}
    total = rows["all"][0] if "all" in rows else 0
    if completed := total - sum(counts.values()):
        counts[Status.COMPLETED] = completed
    pending, due, oldest_due = rows.get("pending", (0, 0, None))
    return TypeStats(type, counts, due, pending - due, oldest_due, "paused" in rows)
