"""Hints that wait to be sent: they are merged while a message is in flight, and frequent messages are delayed."""

from __future__ import annotations

import threading
import time
from typing import Final

from holdfast.engine.wakeups import Hints

MAX_IDS: Final = 2000
"""Above this number of chain and job ids, send `anything=True` instead of the ids."""
LONGEST_PAUSE: Final = 0.025


class HintBuffer:
    """Hints that wait to be sent. Any thread may add hints; the sender takes all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = Hints()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, hints: Hints) -> bool:
        """Keep a copy of the hints. True if the buffer was empty before, so that the sender must be woken."""
        with self._lock:
            waiting = self._waiting
            first = not waiting
            waiting.add(hints)
            if len(waiting.finished) + len(waiting.lost) > MAX_IDS:
                # Bounds the memory while the sender has no connection for hours.
                waiting.finished.clear()
                waiting.lost.clear()
                waiting.anything = True
        return first and bool(hints)

    def take(self) -> Hints:
        """Remove and return all hints. The caller owns the returned object."""
        with self._lock:
            hints, self._waiting = self._waiting, Hints()
        return hints


class SendPause:
    """The pause between two messages: zero at first, longer while messages follow each other closely."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._sent = 0.0

    def over(self) -> bool:
        return self.wait() <= 0

    def sent(self, *, several: bool = False) -> None:
        """A message was sent now.

        Several hints in one message mean a high rate. After a message with one hint, another process may be waiting
        for each hint in turn, so the pause ends sooner.
        """
        now = time.monotonic()
        if now - self._sent > max(2 * self._pause, 0.01 if several else 0.002):
            self._pause = 0.0
        else:
            self._pause = min(LONGEST_PAUSE, max(0.001, self._pause * 2))
        self._sent = now

    def wait(self) -> float:
        """The seconds that are left of the pause."""
        return max(0.0, self._sent + self._pause - time.monotonic())
