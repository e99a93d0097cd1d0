"""Hints of commits that nobody tells us of: said again and again, until the commit has most likely happened.

A bare connection of the application's has no hook that runs after its commit. Where the database itself does not tell
(NOTIFY does, and so does a watched file), the hint is said soon after the statement and a few times more. Early ones
find nothing and do no harm; a transaction that takes longer than all of them is found by polling.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import Hints

DELAYS: Final = (0.01, 0.05, 0.25, 1.0, 5.0)
"""Seconds after the statement at which its hints are said."""


class _Round:
    """Hints of statements that came together."""

    def __init__(self, now: float) -> None:
        self.hints = Hints()
        self.said = 0
        self._begun = now

    @property
    def due(self) -> float:
        return self._begun + DELAYS[self.said]


class Echo:
    """Says hints through `send`, from a thread that lives while there is something left to say."""

    def __init__(self, send: Callable[[Hints], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._rounds: list[_Round] = []
        self._thread: threading.Thread | None = None

    def add(self, hints: Hints) -> None:
        """Say these from now on. Does not block; what comes within the first delay goes together."""
        # The lock itself: entering a Condition is Python code, which an exception of a signal handler can interrupt.
        with self._lock:
            if not self._rounds or self._rounds[-1].said:
                self._rounds.append(_Round(time.monotonic()))
            self._rounds[-1].hints.add(hints)
            if self._thread is None:
                uninterrupted(self._start)

    def close(self) -> None:
        """Say everything a last time, now, and end the thread."""
        with self._changed:
            rounds, self._rounds = self._rounds, []
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()
        for each in rounds:
            self._send(each.hints)

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="holdfast-echo", daemon=True)
        thread.start()
        self._thread = thread

    def _run(self) -> None:
        while (hints := self._next()) is not None:
            if hints:
                self._send(hints)

    def _next(self) -> Hints | None:
        """Wait for what is due, and answer it; None when nothing is left."""
        with self._changed:
            if not self._rounds:
                self._thread = None
                return None
            self._changed.wait(max(0.0, min(each.due for each in self._rounds) - time.monotonic()))
            now = time.monotonic()
            together = Hints()
            for each in self._rounds:
                if each.due <= now:
                    together.add(each.hints)
                    each.said += 1
            self._rounds = [each for each in self._rounds if each.said < len(DELAYS)]
            return together
