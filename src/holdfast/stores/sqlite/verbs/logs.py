"""Store the logs of running attempts."""

from __future__ import annotations

from holdfast.engine.operations import LOG, StoreLogs
from holdfast.stores.sql.plan import Execution, Many, Plan
from holdfast.stores.sqlite.rows import SQL

_STORE_LOGS = SQL["store_logs"]


def store_logs(execution: Execution, operation: StoreLogs) -> Plan[None]:
    rows: list[dict[str, object]] = [
        {"id": claim.job_id, "token": claim.token, "now": execution.now, "outcome": LOG, "log": log}
        for claim, log in operation.logs
    ]
    yield Many(_STORE_LOGS, rows)
