"""Marks: rows that show whether a transaction of the application committed."""

from __future__ import annotations

from holdfast.engine.operations import FindMarks, Mark
from holdfast.stores.sql.plan import Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL, as_json

_MARK = SQL["mark"]
_FORGET = SQL["forget_marks"]
_FIND = SQL["find_marks"]

MARKS_KEPT = 20_000
"""Twice as many as one client holds events for."""


def mark(turn: Turn, op: Mark) -> Plan[None]:
    yield Statement(_MARK, {"id": op.id})
    # Here, and not in `find_marks`: a write there would wait for the application's open transaction.
    yield Statement(_FORGET, {"kept": MARKS_KEPT})
    # The wake-up after the commit lets the client look for the mark at once.
    turn.hints.recorded = True


def find_marks(turn: Turn, op: FindMarks) -> Plan[list[str]]:
    return [mark_id for (mark_id,) in (yield Statement(_FIND, {"ids": as_json(op.ids)}))]
