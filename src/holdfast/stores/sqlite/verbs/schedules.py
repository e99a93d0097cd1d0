"""Schedules: read them, and change one together with the start of its chains."""

from __future__ import annotations

from holdfast.engine.operations import (
    SCHEDULES_CHANGED,
    ChangeSchedule,
    DueSchedules,
    FoundSchedules,
    GetSchedules,
    Start,
    Started,
    StoredSchedule,
)
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json
from holdfast.stores.sqlite.verbs.audit import write_audit
from holdfast.stores.sqlite.verbs.start import start

_GET = SQL["get_schedules"]
_DUE = SQL["due_schedules"]
_NEXT = SQL["next_tick"]
_VERSION = SQL["schedule_version"]
_WRITE = SQL["write_schedule"]
_DELETE = SQL["delete_schedule"]


def get_schedules(context: PlanContext, operation: GetSchedules) -> Plan[FoundSchedules]:
    rows = yield Statement(_GET, {"names": None if operation.names is None else as_json(operation.names)})
    return FoundSchedules(context.now, [StoredSchedule(*row) for row in rows])


def due_schedules(context: PlanContext, operation: DueSchedules) -> Plan[FoundSchedules]:
    parameters = {"types": as_json(operation.types), "now": context.now}
    rows = yield Statement(_DUE, parameters | {"limit": operation.limit})
    [(later,)] = yield Statement(_NEXT, parameters)
    wait = None if later is None else later - context.now
    return FoundSchedules(context.now, [StoredSchedule(*row) for row in rows], wait)


def change_schedule(context: PlanContext, operation: ChangeSchedule) -> Plan[list[Started] | None]:
    rows = yield Statement(_VERSION, {"name": operation.name})
    version = rows[0][0] if rows else None
    if version not in (operation.expected, operation.version):
        return None
    started = yield from start(context, Start(operation.starts))
    if version != operation.expected:  # an earlier try wrote it
        return started
    if operation.body is None:
        yield Statement(_DELETE, {"name": operation.name})
    else:
        yield Statement(
            _WRITE,
            {
                "name": operation.name,
                "version": operation.version,
                "type": operation.type,
                "ticks_at": operation.ticks_at,
                "body": operation.body,
            },
        )
    if operation.announce:
        context.hints.due.add(SCHEDULES_CHANGED)
    yield from write_audit(context, operation.audit, operation.action, [(operation.name, None)])
    return started
