"""Pause and resume: stop and continue the claims of job types."""

from __future__ import annotations

from holdfast.engine.operations import Pause, Resume
from holdfast.stores.sql.plan import Execution, Many, Plan
from holdfast.stores.sqlite.rows import SQL

_PAUSE = SQL["pause"]
_RESUME = SQL["resume"]


def pause(execution: Execution, operation: Pause) -> Plan[None]:
    yield Many(_PAUSE, [{"type": type} for type in operation.types])


def resume(execution: Execution, operation: Resume) -> Plan[None]:
    yield Many(_RESUME, [{"type": type} for type in operation.types])
    execution.hints.due.update(operation.types)
