"""Marks: rows that show whether a transaction of the application committed."""

from __future__ import annotations

from holdfast.engine.operations import FindMarks, FoundMarks, Mark
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Statement

_MARK = SQL["mark"]
_FIND = SQL["find_marks"]


def mark(context: PlanContext, op: Mark) -> Plan[None]:
    # No DELETE here: in a serializable transaction it would also read, and so conflict with other transactions.
    yield Statement(_MARK, {"id": op.id})
    # The wake-up after the commit makes the client look for the mark at once.
    context.hints.recorded = True


def find_marks(context: PlanContext, op: FindMarks) -> Plan[FoundMarks]:
    rows = yield Statement(_FIND, {"ids": list(op.ids), "forget": list(op.forget)})
    # Drivers report the end of a transaction when the server has answered its COMMIT.
    return FoundMarks([mark_id for (mark_id,) in rows], final=True)
