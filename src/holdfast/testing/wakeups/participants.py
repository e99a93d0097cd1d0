"""The objects of a case: two `Wakeups` on one channel, and listeners that record what they receive."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from holdfast.core.ids import new_token
from holdfast.engine.wakeups import ConnectedWakeups, Hints, Wakeups

TIMEOUT = 60.0
"""Seconds after which a hint counts as lost."""

WakeupsFactory = Callable[[], Wakeups]
"""Returns an object for the same channel at each call: a new object if several are possible."""


class RecordingListener:
    """A listener that records the hints that it receives."""

    def __init__(self, wakeups: Wakeups) -> None:
        self._received = Hints()
        self._more = threading.Condition()
        self.unsubscribe = wakeups.subscribe(self._receive)

    def _receive(self, hints: Hints) -> None:
        with self._more:
            self._received.add(hints)
            self._more.notify_all()

    def receives(self, wanted: Hints) -> None:
        """Wait until all of these hints, or `anything`, arrived since the last `clear`."""
        with self._more:
            assert self._more.wait_for(lambda: self._covers(wanted), TIMEOUT), f"{wanted} did not arrive"

    def has_received(self, type: str) -> bool:
        """Whether a hint with this job type arrived."""
        with self._more:
            return type in self._received.due

    def clear(self) -> None:
        """Discard the hints that were received so far."""
        with self._more:
            self._received = Hints()

    def _covers(self, wanted: Hints) -> bool:
        received = self._received
        named = received.due >= wanted.due and received.finished >= wanted.finished and received.lost >= wanted.lost
        named = named and received.workers >= wanted.workers
        return received.anything or (named and received.recorded >= wanted.recorded and not wanted.anything)


class Participants:
    """Two `Wakeups` on one channel, `here` and `there`. They are opened before a case and closed after it."""

    def __init__(self, make_wakeups: WakeupsFactory) -> None:
        self._make_wakeups = make_wakeups
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.here = self.another()
        self.there = self.another()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def another(self) -> Wakeups:
        """One more object on the channel, opened."""
        made = self._make_wakeups()
        if isinstance(made, ConnectedWakeups):
            self._open.callback(made.close)
            made.open()
        return made

    def listen(self, wakeups: Wakeups) -> RecordingListener:
        """A listener that is connected and has received nothing yet."""
        listener = RecordingListener(wakeups)
        deadline = time.monotonic() + TIMEOUT
        while not wakeups.healthy:
            assert time.monotonic() < deadline, "the wake-ups did not become healthy"
            time.sleep(0.01)
        # The arrival of this hint shows that the listener is connected. Hints sent earlier arrive before it.
        first = Hints(due={new_token()})
        wakeups.send(first)
        listener.receives(first)
        listener.clear()
        return listener
