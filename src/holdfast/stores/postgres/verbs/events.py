"""Read recorded events, and register listeners for which events are recorded."""

from __future__ import annotations

from holdfast.core.clock import SECOND, Micros
from holdfast.engine.operations import EventRow, Listen, ReadEvents, Unlisten
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.sql.plan import Row, Statement

_LISTEN = SQL["listen"]
_UNLISTEN = SQL["unlisten"]
_READ_EVENTS = SQL["read_events"]
_EVENT_WRITERS = SQL["event_writers"]


def listen(context: PlanContext, op: Listen) -> Plan[int]:
    ((newest,),) = yield Statement(_LISTEN, {"listener": op.listener, "lease": op.lease, "now": context.clock})
    return int(newest)


def unlisten(context: PlanContext, op: Unlisten) -> Plan[None]:
    yield Statement(_UNLISTEN, {"listener": op.listener})


def read_events(context: PlanContext, op: ReadEvents) -> Plan[list[EventRow]]:
    """A missing number may belong to an open transaction. Later events are returned after it has ended."""
    rows: list[Row]
    read = Statement(_READ_EVENTS, {"after": op.after, "limit": op.limit})
    rows = yield read
    if rows and rows[-1][0] - op.after > len(rows):
        # The open transactions are read first, then the events: a transaction that ends in between is not missed.
        ((newest, since),) = yield Statement(_EVENT_WRITERS)
        rows = _without_gaps(op.after, (yield read), newest, since)
    return [EventRow(*event) for *event, _ in rows]


def _without_gaps(after: int, rows: list[Row], newest: int, since: Micros | None) -> list[Row]:
    """The events up to the first missing number that may still appear."""
    last = after
    for index, (seq, *_, written_at) in enumerate(rows):
        final = seq <= newest and (since is None or written_at + SECOND < since)
        if seq != last + 1 and not final:
            return rows[:index]
        last = seq
    return rows
