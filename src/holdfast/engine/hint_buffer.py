"""Hints on their way out: what comes while a message is under way goes into the next one, and a flood is slowed."""

from __future__ import annotations

import threading
import time
from typing import Final

from holdfast.engine.wakeups import Hints

MOST: Final = 2000
"""Chains and jobs that are kept to be told of by name. Beyond that it is: look for yourselves."""
LONGEST_PAUSE: Final = 0.025


class Gathered:
    """Hints that wait to be sent. Any thread may add to them, whoever sends takes them all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = Hints()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, hints: Hints) -> bool:
        """Keep a copy; tells whether these are the first, so that the sender has to be told."""
        with self._lock:
            waiting = self._waiting
            first = not waiting
            waiting.add(hints)
            if len(waiting.finished) + len(waiting.lost) > MOST:
                # A sender that is cut off for hours must not fill the memory.
                waiting.finished.clear()
                waiting.lost.clear()
                waiting.anything = True
        return first and bool(hints)

    def take(self) -> Hints:
        """Everything so far, which is the caller's from now on."""
        with self._lock:
            hints, self._waiting = self._waiting, Hints()
        return hints


class Gap:
    """The pause between two messages: none at first, growing while they follow each other closely."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._sent = 0.0

    def over(self) -> bool:
        return self.wait() <= 0

    def sent(self, *, several: bool = False) -> None:
        """A message has gone out just now.

        Several hints together come of a flood; with one at a time, somebody may be waiting for each before the next.
        """
        now = time.monotonic()
        if now - self._sent > max(2 * self._pause, 0.01 if several else 0.002):
            self._pause = 0.0
        else:
            self._pause = min(LONGEST_PAUSE, max(0.001, self._pause * 2))
        self._sent = now

    def wait(self) -> float:
        """Seconds that are left of it."""
        return max(0.0, self._sent + self._pause - time.monotonic())
