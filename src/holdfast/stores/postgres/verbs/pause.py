"""Pause and resume job types."""

from __future__ import annotations

from holdfast.engine.operations import Pause, Resume
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_PAUSE = SQL["pause"]
_RESUME = SQL["resume"]


def pause(execution: Execution, op: Pause) -> Plan[None]:
    yield Statement(_PAUSE, {"types": list(op.types)})


def resume(execution: Execution, op: Resume) -> Plan[None]:
    yield Statement(_RESUME, {"types": list(op.types)})
    execution.marks.forget()
    execution.hints.due.update(op.types)
