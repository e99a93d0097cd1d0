"""Pause and resume job types."""

from __future__ import annotations

from holdfast.engine.operations import Pause, Resume
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.sql.plan import Statement

_PAUSE = SQL["pause"]
_RESUME = SQL["resume"]


def pause(context: PlanContext, op: Pause) -> Plan[None]:
    yield from context.begin()
    changed = {type for (type,) in (yield Statement(_PAUSE, {"types": list(op.types)}))}
    named = [type for type in dict.fromkeys(op.types) if type in changed]
    yield from write_audit(context, op.audit, "pause", [(type, None) for type in named])


def resume(context: PlanContext, op: Resume) -> Plan[None]:
    yield from context.begin()
    changed = {type for (type,) in (yield Statement(_RESUME, {"types": list(op.types)}))}
    named = [type for type in dict.fromkeys(op.types) if type in changed]
    yield from write_audit(context, op.audit, "resume", [(type, None) for type in named])
    context.scan_starts.forget()
    context.hints.due.update(op.types)
