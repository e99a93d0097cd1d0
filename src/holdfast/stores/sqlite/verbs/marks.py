"""Marks: rows that show whether a transaction of the application committed."""

from __future__ import annotations

from holdfast.engine.operations import FindMarks, Mark
from holdfast.stores.sql.plan import Execution, Plan, Statement
from holdfast.stores.sqlite.rows import SQL, as_json

_MARK = SQL["mark"]
_DELETE = SQL["delete_marks"]
_FIND = SQL["find_marks"]

MARKS_KEPT = 20_000
"""Twice the number of transactions for which one client buffers events."""


def mark(execution: Execution, operation: Mark) -> Plan[None]:
    yield Statement(_MARK, {"id": operation.id})
    # Here, and not in `find_marks`: a write there would wait for the application's open transaction.
    yield Statement(_DELETE, {"kept": MARKS_KEPT})
    # The wake-up after the commit lets the client look for the mark at once.
    execution.hints.recorded = True


def find_marks(execution: Execution, operation: FindMarks) -> Plan[list[str]]:
    return [mark_id for (mark_id,) in (yield Statement(_FIND, {"ids": as_json(operation.ids)}))]
