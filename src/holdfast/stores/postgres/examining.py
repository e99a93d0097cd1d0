"""What `holdfast doctor` says about a PostgreSQL store."""

from __future__ import annotations

from holdfast.operations import Examine, Finding
from holdfast.sql.plan import Plan, Statement
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.turn import Turn

_OLDEST = SQL["examine_oldest"]


def examine(turn: Turn, op: Examine) -> Plan[list[Finding]]:
    yield Statement(_OLDEST, {"now": turn.clock})
    return []
