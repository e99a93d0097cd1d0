"""Record events while a listener exists, and read them."""

from __future__ import annotations

from holdfast.engine.operations import EventRow, Listen, ReadEvents, Unlisten
from holdfast.stores.memory.state import State


def listen(state: State, op: Listen) -> int:
    state.listeners[op.listener] = state.now() + op.lease
    return state.event_seq


def unlisten(state: State, op: Unlisten) -> None:
    state.listeners.pop(op.listener, None)


def read_events(state: State, op: ReadEvents) -> list[EventRow]:
    return [event for event in state.events if event.seq > op.after][: op.limit]
