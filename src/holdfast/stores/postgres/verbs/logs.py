"""Store the logs of running attempts."""

from __future__ import annotations

from holdfast.engine.operations import LOG, SaveLogs
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_SAVE_LOGS = SQL["save_logs"]


def save_logs(context: PlanContext, op: SaveLogs) -> Plan[None]:
    yield Statement(
        _SAVE_LOGS,
        {
            "now": context.clock,
            "ids": [each.claim.job_id for each in op.logs],
            "tokens": [each.claim.token for each in op.logs],
            "outcome": LOG,
            "logs": [each.log for each in op.logs],
        },
    )
