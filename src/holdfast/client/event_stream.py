"""Follows the events of a store live, from all programs that use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing, suppress
from time import monotonic
from typing import Any

from holdfast.client.waiting import Sleep
from holdfast.core.clock import duration
from holdfast.core.ids import new_id
from holdfast.engine.events import Event, from_row
from holdfast.engine.operations import EventRow, Listen, Operation, ReadEvents, Unlisten
from holdfast.engine.store import Store
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError

LEASE = 30.0
"""Seconds that the store records transitions for a listener that has stopped renewing."""
POLL = 1.0
BATCH = 1000

EventProcedure = Generator[Operation[Any] | Sleep | list[Event], Any, None]


def _following(listener: str) -> EventProcedure:
    """Listen, read and sleep in a loop. Yields operations, sleeps, and batches of events."""
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
            yield Sleep(POLL)


def _receive(wake_flag: WakeFlag, hints: Hints) -> None:
    if hints.recorded or hints.anything:
        wake_flag.set()


async def follow(store: Store) -> AsyncGenerator[Event]:
    """Events from now on."""
    async with aclosing(watch(store)) as seen:
        async for event in seen:
            if event is not None:
                yield event


def follow_sync(store: Store) -> Generator[Event]:
    """Events from now on, for blocking code."""
    with closing(watch_sync(store)) as seen:
        for event in seen:
            if event is not None:
                yield event


async def watch(store: Store) -> AsyncGenerator[Event | None]:
    """Events from now on. None: the store has begun to record events, or a pause of at most a second has ended."""
    wake_flag, listener = WakeFlag(), new_id()
    unsubscribe = store.wakeups.subscribe(lambda hints: _receive(wake_flag, hints))
    following = _following(listener)
    answer: Any = None
    try:
        while True:
            match following.send(answer):
                case Sleep(seconds):
                    answer = await wake_flag.wait(seconds)
                    yield None
                case Operation() as operation:
                    answer = await store.perform(operation)
                    if isinstance(operation, Listen):
                        yield None
                case events:
                    answer = None
                    for event in events:
                        yield event
    finally:
        unsubscribe()
        with suppress(HoldfastError):  # the listener expires anyway
            await store.perform(Unlisten(listener))


def watch_sync(store: Store) -> Generator[Event | None]:
    """The same for blocking code."""
    wake_flag, listener = WakeFlag(), new_id()
    unsubscribe = store.wakeups.subscribe(lambda hints: _receive(wake_flag, hints))
    following = _following(listener)
    answer: Any = None
    try:
        while True:
            match following.send(answer):
                case Sleep(seconds):
                    answer = wake_flag.wait_sync(seconds)
                    yield None
                case Operation() as operation:
                    answer = store.perform_sync(operation)
                    if isinstance(operation, Listen):
                        yield None
                case events:
                    answer = None
                    yield from events
    finally:
        unsubscribe()
        with suppress(HoldfastError):  # the listener expires anyway
            store.perform_sync(Unlisten(listener))
