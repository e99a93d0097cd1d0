"""Pause and resume: stop and continue the claims of job types."""

from __future__ import annotations

from holdfast.engine.operations import Pause, Resume
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs.audit import write_audit

_PAUSE = SQL["pause"]
_RESUME = SQL["resume"]
_PAUSED = SQL["stats_paused"]


def pause(context: PlanContext, operation: Pause) -> Plan[None]:
    paused = {type for (type,) in (yield Statement(_PAUSED))}
    changed = [type for type in dict.fromkeys(operation.types) if type not in paused]
    yield Many(_PAUSE, [{"type": type} for type in changed])
    yield from write_audit(context, operation.audit, "pause", [(type, None) for type in changed])


def resume(context: PlanContext, operation: Resume) -> Plan[None]:
    paused = {type for (type,) in (yield Statement(_PAUSED))}
    changed = [type for type in dict.fromkeys(operation.types) if type in paused]
    yield Many(_RESUME, [{"type": type} for type in changed])
    yield from write_audit(context, operation.audit, "resume", [(type, None) for type in changed])
    context.hints.due.update(operation.types)
