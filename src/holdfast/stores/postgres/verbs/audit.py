"""The audit: what operators changed."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.engine.operations import AUDIT_KEPT, Audit, AuditRow, GetAudit
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_INSERT = SQL["insert_audit"]
_GET = SQL["get_audit"]
_GET_ABOUT = SQL["get_audit_about"]
_PRUNE = SQL["prune_audit"]


def write_audit(
    context: PlanContext, audit: Audit | None, action: str, changed: Iterable[tuple[str, str | None]]
) -> Plan[None]:
    """Write an entry for each target, with its chain if it has one. Writes nothing if `audit` is None.

    Call this after the plan has begun its transaction.
    """
    pairs = list(changed)
    if audit is not None and pairs:
        targets, chain_ids = [target for target, _ in pairs], [chain_id for _, chain_id in pairs]
        entry = {"now": context.now, "user": audit.user, "action": action, "reason": audit.reason}
        yield Statement(_INSERT, {**entry, "targets": targets, "chain_ids": chain_ids})


def get_audit(context: PlanContext, op: GetAudit) -> Plan[list[AuditRow]]:
    parameters = {"since": op.since, "now": context.clock, "kept": AUDIT_KEPT, "limit": op.limit}
    if op.about:
        rows = yield Statement(_GET_ABOUT, {**parameters, "about": list(op.about)})
    else:
        rows = yield Statement(_GET, parameters)
    return [AuditRow(*row) for row in rows]


def prune_audit(context: PlanContext) -> Plan[None]:
    """Delete old entries."""
    yield Statement(_PRUNE, {"now": context.now, "kept": AUDIT_KEPT})
