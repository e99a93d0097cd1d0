"""Follow a store live: what happens on it, whoever does it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import suppress
from time import monotonic
from typing import Any

from holdfast.client.waiting import Nap
from holdfast.core.clock import duration
from holdfast.core.ids import new_id
from holdfast.engine.events import Event, from_row
from holdfast.engine.operations import EventRow, Listen, Operation, ReadEvents, Unlisten
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Alarm, Hints
from holdfast.errors import HoldfastError

LEASE = 30.0
"""Seconds that transitions are recorded for a listener which says no more."""
POLL = 1.0
BATCH = 1000

Following = Generator[Operation[Any] | Nap | list[Event], Any, None]


def _following(listener: str) -> Following:
    """Listen, read, sleep: a batch of events is yielded wherever there are some."""
    position: int = yield Listen(listener, duration(LEASE))
    listening_until = monotonic() + LEASE / 3
    while True:
        rows: list[EventRow] = yield ReadEvents(position, BATCH)
        if rows:
            position = rows[-1].seq
            yield [from_row(row) for row in rows]
        if monotonic() >= listening_until:
            yield Listen(listener, duration(LEASE))
            listening_until = monotonic() + LEASE / 3
        if len(rows) < BATCH:
            yield Nap(POLL)


def _receive(alarm: Alarm, hints: Hints) -> None:
    if hints.recorded or hints.anything:
        alarm.ring()


async def follow(store: Store) -> AsyncGenerator[Event]:
    """Events from now on."""
    alarm, listener = Alarm(), new_id()
    unsubscribe = store.wakeups.subscribe(lambda hints: _receive(alarm, hints))
    following = _following(listener)
    answer: Any = None
    try:
        while True:
            match following.send(answer):
                case Nap(seconds):
                    answer = await alarm.wait(seconds)
                case Operation() as operation:
                    answer = await store.perform(operation)
                case events:
                    answer = None
                    for event in events:
                        yield event
    finally:
        unsubscribe()
        with suppress(HoldfastError):  # the listener is forgotten in time anyway
            await store.perform(Unlisten(listener))


def follow_sync(store: Store) -> Generator[Event]:
    """Events from now on, for blocking code."""
    alarm, listener = Alarm(), new_id()
    unsubscribe = store.wakeups.subscribe(lambda hints: _receive(alarm, hints))
    following = _following(listener)
    answer: Any = None
    try:
        while True:
            match following.send(answer):
                case Nap(seconds):
                    answer = alarm.wait_sync(seconds)
                case Operation() as operation:
                    answer = store.perform_sync(operation)
                case events:
                    answer = None
                    yield from events
    finally:
        unsubscribe()
        with suppress(HoldfastError):  # the listener is forgotten in time anyway
            store.perform_sync(Unlisten(listener))
