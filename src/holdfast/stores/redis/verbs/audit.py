"""The audit: what operators changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs import encode
from holdfast.stores.redis.verbs.script_call import ScriptCall, ScriptPlan

WINDOW = 500
"""Entries that one script reads. They are small."""
_NUMBER_BYTES = 8


class _Facts(NamedTuple):
    at: int
    user: str
    action: str
    target: str
    chain_id: str
    reason: str


_facts = msgspec.msgpack.Decoder(_Facts).decode


def author(audit: ops.Audit | None) -> tuple[str, str] | None:
    """Who makes a change, in the order of `scripts/shared/audit.lua`."""
    return None if audit is None else (audit.user, audit.reason or "")


def get_audit(op: ops.GetAudit) -> ScriptPlan[list[ops.AuditRow]]:
    rows: dict[bytes, ops.AuditRow] = {}  # by entry: new entries move the others, so that one may be read twice
    read = 0
    more: Any = b"more"
    while more and len(rows) < op.limit:
        (reply,) = yield [ScriptCall("get_audit", (read, WINDOW, encode.number(op.since), op.about or None))]
        more, *entries = reply
        rows |= {entry: _row(entry) for entry in entries}
        read += WINDOW
    return list(rows.values())[: op.limit]


def _row(entry: bytes) -> ops.AuditRow:
    facts = _facts(entry[_NUMBER_BYTES:])
    return ops.AuditRow(facts.at, facts.user, facts.action, facts.target, facts.chain_id or None, facts.reason or None)
