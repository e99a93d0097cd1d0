"""Marks: rows that show whether a transaction of the application committed."""

from __future__ import annotations

import sqlite3

from holdfast.engine.operations import FindMarks, FoundMarks, Mark
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.connection.connect import READ_TIMEOUT
from holdfast.stores.sqlite.errors import is_busy
from holdfast.stores.sqlite.rows import SQL, as_json

_MARK = SQL["mark"]
_DELETE = SQL["delete_marks"]
_FIND = SQL["find_marks"]

_FAIL_IF_LOCKED = Statement("pragma busy_timeout = 0"), Statement("pragma query_only = 0")
"""Let a connection that reads try for the write lock, without waiting."""
_AS_BEFORE = Statement("pragma query_only = 1"), Statement(f"pragma busy_timeout = {READ_TIMEOUT * 1000:.0f}")

MARKS_KEPT = 20_000
"""Twice the number of transactions for which one client buffers events."""


def mark(context: PlanContext, operation: Mark) -> Plan[None]:
    yield Statement(_MARK, {"id": operation.id})
    # Here, and not in `find_marks`: a write there would wait for the application's open transaction.
    yield Statement(_DELETE, {"kept": MARKS_KEPT})
    # The wake-up after the commit lets the client look for the mark at once.
    context.hints.recorded = True


def find_marks(context: PlanContext, operation: FindMarks) -> Plan[FoundMarks]:
    """Search, and if a mark is missing, search again with the write lock.

    A connection reports that it is in no transaction as soon as its COMMIT begins, before the commit is visible. It
    has the write lock until then. The lock is not waited for: this thread may have a transaction open.
    """
    find = Statement(_FIND, {"ids": as_json(operation.ids)})
    found = yield find
    final = len(found) == len(operation.ids)
    if not final:
        yield Statement("commit")
        for each in _FAIL_IF_LOCKED:
            yield each
        try:
            yield Statement("begin immediate")
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                raise
        else:
            found, final = (yield find), True
            yield Statement("rollback")
        for each in _AS_BEFORE:
            yield each
        yield Statement("begin")
    return FoundMarks([mark_id for (mark_id,) in found], final)
