"""How many connections a pool may use at once, and who waits for one.

A semaphore whose state says who holds it: the first `number` places in the line are taken, the others wait. A place is
added before its caller waits, and removed by a single call. So an exception of a signal handler never leaves one
behind: see `holdfast.engine.uninterrupted`.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Final

LOOK: Final = 0.05
"""Seconds after which a waiting thread looks again, although it was not told that a place is free."""


class Place:
    """One caller's place in the line."""

    __slots__ = ("bell",)

    def __init__(self) -> None:
        self.bell: SimpleQueue[None] | None = None


class Places:
    """Admits `number` callers at once, in the order in which they came. Safe from any thread."""

    def __init__(self, number: int) -> None:
        self.line: dict[Place, None] = {}
        """To leave is to be removed, followed by `wake`."""
        self._number = number

    def enter(self, place: Place, timeout: float) -> bool:
        """Wait for a place; False if none was free in time. After an error, and when done, the caller leaves."""
        self.line[place] = None
        if len(self.line) <= self._number:
            return True
        place.bell = SimpleQueue()
        deadline = time.monotonic() + timeout
        while place not in self._admitted():
            left = deadline - time.monotonic()
            if left <= 0:
                self.leave(place)
                return False
            try:
                place.bell.get(timeout=min(left, LOOK))
            except Empty:
                continue
        return True

    def leave(self, place: Place) -> None:
        """Give the place up. Leaving twice does nothing."""
        self.line.pop(place, None)
        self.wake()

    def wake(self) -> None:
        """Wake the caller that has a place now."""
        if len(self.line) >= self._number:
            for place in self._admitted():
                if place.bell is not None:
                    place.bell.put(None)

    def _admitted(self) -> list[Place]:
        return list(self.line)[: self._number]
