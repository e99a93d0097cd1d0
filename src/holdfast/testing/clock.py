"""A clock that moves only when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.core.clock import SECOND, Micros, duration
from holdfast.core.retry import Seconds, seconds

A_MOMENT: Micros = 1_767_225_600 * SECOND
"""The first of January 2026, UTC: where a manual clock starts unless told otherwise."""


class ManualClock:
    """Time in a test's own hands. Give it to a store as its `clock`; any thread may read or move it.

    Whoever waits for a moment subscribes, and looks at the clock again whenever it is called.
    """

    def __init__(self, start: Micros = A_MOMENT) -> None:
        self._now = start
        self._listeners: dict[int, Callable[[], None]] = {}
        self._next = 0
        self._lock = threading.Lock()

    def __call__(self) -> Micros:
        return self._now

    def advance(self, by: Seconds) -> Micros:
        """Move time forward, call every subscriber, and answer the new time."""
        if seconds(by) < 0:
            raise ValueError("a manual clock only moves forward")
        return self.move_to(self._now + duration(seconds(by)))

    def move_to(self, moment: Micros) -> Micros:
        """Set the time, call every subscriber, and answer it. A moment in the past is a clock that was set back."""
        with self._lock:
            self._now = moment
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()
        return moment

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called after each move, on the thread that moves, until the returned function is called."""
        with self._lock:
            number = self._next
            self._next += 1
            self._listeners[number] = listener
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)
