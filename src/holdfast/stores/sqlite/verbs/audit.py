"""Audit: what operators changed."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.engine.operations import AUDIT_KEPT, Audit, AuditRow, GetAudit
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json

_INSERT = SQL["insert_audit"]
_GET = SQL["get_audit"]
_GET_ABOUT = SQL["get_audit_about"]
_PRUNE = SQL["prune_audit"]


def write_audit(
    context: PlanContext, audit: Audit | None, action: str, targets: Iterable[tuple[str, str | None]]
) -> Plan[None]:
    """Write an entry for each target, with its chain if it has one. Without `audit`, write no entry."""
    if audit is not None:
        entry = {"now": context.now, "user": audit.user, "action": action, "reason": audit.reason}
        yield Many(_INSERT, [{**entry, "target": target, "chain_id": chain_id} for target, chain_id in targets])


def get_audit(context: PlanContext, operation: GetAudit) -> Plan[list[AuditRow]]:
    since = max(operation.since or 0, context.now - AUDIT_KEPT)
    parameters = {"since": since, "limit": operation.limit, "about": as_json(operation.about)}
    rows = yield Statement(_GET_ABOUT if operation.about else _GET, parameters)
    return [AuditRow(*row) for row in rows]


def prune_audit(context: PlanContext) -> Plan[None]:
    """Delete old entries."""
    yield Statement(_PRUNE, {"until": context.now - AUDIT_KEPT})
