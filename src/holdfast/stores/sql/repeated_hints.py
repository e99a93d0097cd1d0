"""Send hints several times for a transaction without a commit hook.

A plain connection of the application has no hook that runs after its commit. NOTIFY and a watched file report the
commit. With other wake-ups, the hint is sent soon after the statement and several times more. A hint before the commit
has no effect and does no harm. If the transaction takes longer than all of them, polling finds its jobs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import Hints

DELAYS: Final = (0.01, 0.05, 0.25, 1.0, 5.0)
"""Seconds after the statement at which its hints are sent."""


class _Batch:
    """Hints of statements within the first delay, which are sent together."""

    def __init__(self, now: float) -> None:
        self.hints = Hints()
        self.sent = 0
        self._begun = now

    @property
    def due(self) -> float:
        return self._begun + DELAYS[self.sent]


class RepeatedHints:
    """Sends hints through `send`, in a thread that ends after the last one."""

    def __init__(self, send: Callable[[Hints], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._batches: list[_Batch] = []
        self._thread: threading.Thread | None = None

    def add(self, hints: Hints) -> None:
        """Send these hints from now on. Does not block. Hints within the first delay are sent together."""
        # The lock itself: entering a Condition is Python code, which an exception of a signal handler can interrupt.
        with self._lock:
            if not self._batches or self._batches[-1].sent:
                self._batches.append(_Batch(time.monotonic()))
            self._batches[-1].hints.add(hints)
            if self._thread is None:
                uninterrupted(self._start)

    def close(self) -> None:
        """Send all remaining hints once more, now, and end the thread."""
        with self._changed:
            batches, self._batches = self._batches, []
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()
        for each in batches:
            self._send(each.hints)

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="holdfast-repeated-hints", daemon=True)
        thread.start()
        self._thread = thread

    def _run(self) -> None:
        while (hints := self._next()) is not None:
            if hints:
                self._send(hints)

    def _next(self) -> Hints | None:
        """Wait for the next due time. Returns the due hints; None when none are left."""
        with self._changed:
            if not self._batches:
                self._thread = None
                return None
            self._changed.wait(max(0.0, min(each.due for each in self._batches) - time.monotonic()))
            return self._take_due(time.monotonic())

    def _take_due(self, now: float) -> Hints:
        together = Hints()
        for each in self._batches:
            if each.due <= now:
                together.add(each.hints)
                each.sent += 1
        self._batches = [each for each in self._batches if each.sent < len(DELAYS)]
        return together
