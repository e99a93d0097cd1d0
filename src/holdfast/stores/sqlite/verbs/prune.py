"""Prune: delete finished chains after their keep time."""

from __future__ import annotations

from holdfast.engine.operations import Prune
from holdfast.stores.sql.plan import Execution, Plan, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs.delete import remove

_EXPIRED = SQL["prune_expired"]


def prune(execution: Execution, operation: Prune) -> Plan[list[str]]:
    rows = yield Statement(_EXPIRED, {"now": execution.now, "limit": operation.limit})
    expired = [chain_id for (chain_id,) in rows]
    yield from remove(execution, expired)
    return expired
