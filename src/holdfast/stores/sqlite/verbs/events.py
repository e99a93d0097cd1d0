"""Events. A transaction records its events while a listener is registered."""

from __future__ import annotations

from holdfast.engine.operations import EventRow, Listen, ReadEvents, Unlisten
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL

_LISTENING = SQL["listening"]
_LISTEN = SQL["listen"]
_DELETE_LISTENERS = SQL["delete_listeners"]
_UNLISTEN = SQL["unlisten"]
_LAST = SQL["last_event"]
_INSERT = SQL["insert_event"]
_DELETE = SQL["delete_events"]
_READ = SQL["read_events"]

EVENTS_KEPT = 10_000


def listen(context: PlanContext, operation: Listen) -> Plan[int]:
    yield Statement(_DELETE_LISTENERS, {"now": context.now})
    yield Statement(_LISTEN, {"name": operation.listener, "until": context.now + operation.lease})
    [(last,)] = yield Statement(_LAST)
    return int(last)


def unlisten(context: PlanContext, operation: Unlisten) -> Plan[None]:
    yield Statement(_UNLISTEN, {"name": operation.listener})


def read_events(context: PlanContext, operation: ReadEvents) -> Plan[list[EventRow]]:
    return [EventRow(*row) for row in (yield Statement(_READ, {"after": operation.after, "limit": operation.limit}))]


def check_listeners(context: PlanContext) -> Plan[None]:
    """Read whether a listener is registered."""
    context.listening = bool((yield Statement(_LISTENING, {"now": context.now})))


def write(context: PlanContext) -> Plan[None]:
    """Record the events that the plan collected."""
    yield Many(_INSERT, context.events)
    yield Statement(_DELETE, {"kept": EVENTS_KEPT})
    context.hints.recorded = True
