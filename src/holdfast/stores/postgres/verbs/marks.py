"""Marks: rows that show whether a transaction of the application committed."""

from __future__ import annotations

from holdfast.engine.operations import FindMarks, Mark
from holdfast.stores.postgres.execution import Turn
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Plan, Statement

_MARK = SQL["mark"]
_FIND = SQL["find_marks"]


def mark(turn: Turn, op: Mark) -> Plan[None]:
    # No DELETE here: in a serializable transaction of the application it would read, and so conflict with others.
    yield Statement(_MARK, {"id": op.id})
    # The wake-up after the commit lets the client look for the mark at once.
    turn.hints.recorded = True


def find_marks(turn: Turn, op: FindMarks) -> Plan[list[str]]:
    rows = yield Statement(_FIND, {"ids": list(op.ids), "forget": list(op.forget)})
    return [mark_id for (mark_id,) in rows]
