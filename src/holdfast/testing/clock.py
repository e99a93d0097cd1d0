"""A clock that a test moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from holdfast.core.clock import SECOND, Micros, duration
from holdfast.core.retry import Seconds, seconds

A_MOMENT: Micros = 1_767_225_600 * SECOND
"""The first of January 2026, UTC: the default start of a manual clock."""


class ManualClock:
    """A clock that only `advance` and `move_to` change. Set it as the `clock` of a store.

    Any thread may read or move it. Code that waits for a time subscribes, and reads the clock at each call.
    """

    def __init__(self, start: Micros = A_MOMENT) -> None:
        self._now = start
        self._listeners: dict[int, Callable[[], None]] = {}
        self._waits: dict[tuple[Micros, object], None] = {}
        self._next = 0
        self._lock = threading.Lock()

    def __call__(self) -> Micros:
        return self._now

    def advance(self, by: Seconds) -> Micros:
        """Move the time forward, call every subscriber, and return the new time."""
        if seconds(by) < 0:
            raise ValueError("a manual clock only moves forward")
        return self.move_to(self._now + duration(seconds(by)))

    def move_to(self, moment: Micros) -> Micros:
        """Set the time, call every subscriber, and return the time. It may be in the past."""
        with self._lock:
            self._now = moment
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()
        return moment

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each move, in the moving thread, until the returned function is called."""
        with self._lock:
            number = self._next
            self._next += 1
            self._listeners[number] = listener
        return lambda: self._unsubscribe(number)

    @contextmanager
    def waiting(self, until: Micros, ended: Callable[[], object]) -> Generator[None]:
        """Code waits in place for this time: `ended` is called when the clock reaches it. `drain` moves the clock."""

        def check() -> None:
            if self._now >= until:
                ended()

        unsubscribe, entry = self.subscribe(check), (until, object())
        with self._lock:
            self._waits[entry] = None
        check()
        try:
            yield
        finally:
            unsubscribe()
            with self._lock:
                self._waits.pop(entry, None)

    @property
    def waits(self) -> list[Micros]:
        """The times that code waits for in place."""
        with self._lock:
            return [until for until, _ in self._waits]

    def _unsubscribe(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)
