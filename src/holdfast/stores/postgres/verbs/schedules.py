"""Schedules: read them, and change one together with the start of its chains."""

from __future__ import annotations

from holdfast.engine.operations import (
    SCHEDULES_CHANGED,
    ChangeSchedule,
    DueSchedules,
    FoundSchedules,
    GetSchedules,
    Started,
    StoredSchedule,
)
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs import replace
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.postgres.verbs.start import create_found
from holdfast.stores.sql.plan import Statement

_GET = SQL["get_schedules"]
_DUE = SQL["due_schedules"]
_VERSION = SQL["schedule_version"]
_FREE_VERSION = SQL["free_schedule_version"]
_CREATE = SQL["create_schedule"]
_WRITE = SQL["write_schedule"]
_DELETE = SQL["delete_schedule"]


def get_schedules(context: PlanContext, op: GetSchedules) -> Plan[FoundSchedules]:
    names = None if op.names is None else list(op.names)
    first, *rows = yield Statement(_GET, {"names": names, "now": context.clock})
    return FoundSchedules(first[3], [StoredSchedule(*row[:3]) for row in rows])


def due_schedules(context: PlanContext, op: DueSchedules) -> Plan[FoundSchedules]:
    parameters = {"types": list(op.types), "limit": op.limit, "now": context.clock}
    first, *rows = yield Statement(_DUE, parameters)
    now, later = first[3:]
    return FoundSchedules(now, [StoredSchedule(*row[:3]) for row in rows], None if later is None else later - now)


def change_schedule(context: PlanContext, op: ChangeSchedule) -> Plan[list[Started] | None]:
    """The blockers of new jobs are locked before the schedule: the search for them may roll the transaction back."""
    yield from context.begin()
    found = yield from replace.find_and_lock(context, op.starts) if op.starts else _nothing()
    rows = yield Statement(_VERSION if op.wait else _FREE_VERSION, {"name": op.name})
    version = rows[0][0] if rows else None
    if version not in (op.expected, op.version):
        return None
    if version == op.expected:
        if not (yield from _write(op)):
            return None
        if op.announce:
            context.hints.due.add(SCHEDULES_CHANGED)
        yield from write_audit(context, op.audit, op.action, [(op.name, None)])
    started = yield from create_found(context, op.starts, found)
    yield from context.write_events()
    return started


def _write(op: ChangeSchedule) -> Plan[bool]:
    """Write the change. False if another transaction created the schedule meanwhile."""
    if op.body is None:
        yield Statement(_DELETE, {"name": op.name})
        return True
    values = {
        "name": op.name,
        "version": op.version,
        "type": op.type,
        "ticks_at": op.ticks_at,
        "body": op.body,
    }
    return bool((yield Statement(_CREATE if op.expected is None else _WRITE, values)))


def _nothing() -> Plan[list[str | None]]:
    return []
    yield Statement("")
