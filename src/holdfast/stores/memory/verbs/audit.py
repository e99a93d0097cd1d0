"""Audit: what operators changed."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.engine.operations import AUDIT_KEPT, Audit, AuditRow, GetAudit
from holdfast.stores.memory.state import State


def write_audit(state: State, audit: Audit | None, action: str, targets: Iterable[tuple[str, str | None]]) -> None:
    """Write an entry for each target, with its chain if it has one. Without `audit`, write no entry."""
    if audit is None:
        return
    for target, chain_id in targets:
        number = next(reversed(state.audit), 0) + 1
        state.set(state.audit, number, AuditRow(state.now(), audit.user, action, target, chain_id, audit.reason))


def get_audit(state: State, op: GetAudit) -> list[AuditRow]:
    since = max(op.since or 0, state.now() - AUDIT_KEPT)
    rows = [row for row in reversed(state.audit.values()) if row.at >= since]
    return [row for row in rows if not op.about or {row.target, row.chain_id}.intersection(op.about)][: op.limit]


def prune_audit(state: State) -> None:
    """Delete old entries."""
    for number in [number for number, row in state.audit.items() if row.at < state.now() - AUDIT_KEPT]:
        state.drop(state.audit, number)
