"""Live events: recorded in the transaction that they tell of, while somebody listens."""

from __future__ import annotations

from holdfast.engine.operations import EventRow, Listen, ReadEvents, Unlisten
from holdfast.stores.sql.plan import Many, Plan, Statement, Turn
from holdfast.stores.sqlite.rows import SQL

_LISTENING = SQL["listening"]
_LISTEN = SQL["listen"]
_FORGET_LISTENERS = SQL["listen_forget"]
_UNLISTEN = SQL["unlisten"]
_LAST = SQL["last_event"]
_INSERT = SQL["insert_event"]
_FORGET = SQL["forget_events"]
_READ = SQL["read_events"]

EVENTS_KEPT = 10_000


def listen(turn: Turn, op: Listen) -> Plan[int]:
    yield Statement(_FORGET_LISTENERS, {"now": turn.now})
    yield Statement(_LISTEN, {"name": op.listener, "until": turn.now + op.lease})
    [(last,)] = yield Statement(_LAST)
    return int(last)


def unlisten(turn: Turn, op: Unlisten) -> Plan[None]:
    yield Statement(_UNLISTEN, {"name": op.listener})


def read_events(turn: Turn, op: ReadEvents) -> Plan[list[EventRow]]:
    return [EventRow(*row) for row in (yield Statement(_READ, {"after": op.after, "limit": op.limit}))]


def notice_listeners(turn: Turn) -> Plan[None]:
    """Find out whether events are wanted."""
    turn.listening = bool((yield Statement(_LISTENING, {"now": turn.now})))


def write(turn: Turn) -> Plan[None]:
    """Record what a turn gathered."""
    yield Many(_INSERT, turn.events)
    yield Statement(_FORGET, {"kept": EVENTS_KEPT})
    turn.hints.recorded = True
