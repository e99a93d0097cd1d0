"""Store the logs of running attempts."""

from __future__ import annotations

from holdfast.engine.operations import LOG, SaveLogs
from holdfast.stores.sql.plan import Many, Plan, PlanContext
from holdfast.stores.sqlite.rows import SQL

_SAVE_LOGS = SQL["save_logs"]


def save_logs(context: PlanContext, operation: SaveLogs) -> Plan[None]:
    rows: list[dict[str, object]] = [
        {"id": claim.job_id, "token": claim.token, "now": context.now, "outcome": LOG, "log": log}
        for claim, log in operation.logs
    ]
    yield Many(_SAVE_LOGS, rows)
