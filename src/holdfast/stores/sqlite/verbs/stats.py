"""Get stats: count the jobs per type and status."""

from __future__ import annotations

from holdfast.core.record import Status
from holdfast.engine.operations import GetStats, TypeStats
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL

_PENDING = SQL["stats_pending"]
_RUNNING = SQL["stats_running"]
_RARE = SQL["stats_rare"]
_TOTAL = SQL["stats_total"]
_PAUSED = SQL["stats_paused"]


def get_stats(context: PlanContext, operation: GetStats) -> Plan[list[TypeStats]]:
    totals: dict[str, int] = dict((yield Statement(_TOTAL)))
    paused = {type for (type,) in (yield Statement(_PAUSED))}
    pending = {row[0]: row[1:] for row in (yield Statement(_PENDING, {"now": context.now}))}
    counts: dict[str, dict[Status, int]] = {type: {} for type in totals.keys() | paused}
    for type, (number, _, _) in pending.items():
        counts[type][Status.PENDING] = number
    for type, number in (yield Statement(_RUNNING)):
        counts[type][Status.RUNNING] = number
    for status, type, number in (yield Statement(_RARE)):
        counts[type][Status(status)] = number
    stats: list[TypeStats] = []
    for type, by_status in sorted(counts.items()):
        if completed := totals.get(type, 0) - sum(by_status.values()):
            by_status[Status.COMPLETED] = completed
        number, due, oldest = pending.get(type, (0, 0, None))
        stats.append(TypeStats(type, by_status, due, number - due, oldest, type in paused))
    return stats
