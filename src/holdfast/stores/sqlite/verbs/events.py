"""Events. A transaction records its events while a listener is registered."""

from __future__ import annotations

from holdfast.engine.operations import EventRow, Listen, ReadEvents, Unlisten
from holdfast.stores.sql.plan import Execution, Many, Plan, Statement
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


def listen(execution: Execution, operation: Listen) -> Plan[int]:
    yield Statement(_DELETE_LISTENERS, {"now": execution.now})
    yield Statement(_LISTEN, {"name": operation.listener, "until": execution.now + operation.lease})
    [(last,)] = yield Statement(_LAST)
    return int(last)


def unlisten(execution: Execution, operation: Unlisten) -> Plan[None]:
    yield Statement(_UNLISTEN, {"name": operation.listener})


def read_events(execution: Execution, operation: ReadEvents) -> Plan[list[EventRow]]:
    return [EventRow(*row) for row in (yield Statement(_READ, {"after": operation.after, "limit": operation.limit}))]


def check_listeners(execution: Execution) -> Plan[None]:
    """Read whether a listener is registered."""
    execution.listening = bool((yield Statement(_LISTENING, {"now": execution.now})))


def write(execution: Execution) -> Plan[None]:
    """Record the events of an execution."""
    yield Many(_INSERT, execution.events)
    yield Statement(_DELETE, {"kept": EVENTS_KEPT})
    execution.hints.recorded = True
