"""The queue of a pool: how many connections it may use at once, and which callers wait for one.

A semaphore whose state shows which callers occupy it: the first `number` entries in the queue are admitted, the others
wait. An entry is added before its caller waits, and removed by a single call. So an exception of a signal handler never
leaves an entry in the queue: see `holdfast.engine.uninterrupted`.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Final

CHECK_EVERY: Final = 0.05
"""Seconds after which a waiting thread checks again, without a wake-up."""


class Entry:
    """The position of one caller in the queue."""

    __slots__ = ("wakeup",)

    def __init__(self) -> None:
        self.wakeup: SimpleQueue[None] | None = None


class PoolQueue:
    """Admits `number` callers at once, in the order of their arrival. Thread-safe."""

    def __init__(self, number: int) -> None:
        self.entries: dict[Entry, None] = {}
        """A caller leaves the queue by removing its entry and then calling `wake`."""
        self._number = number

    def enter(self, entry: Entry, timeout: float) -> bool:
        """Wait until the entry is admitted; False after the timeout. The caller must always leave in the end."""
        self.entries[entry] = None
        if len(self.entries) <= self._number:
            return True
        entry.wakeup = SimpleQueue()
        deadline = time.monotonic() + timeout
        while entry not in self._admitted():
            left = deadline - time.monotonic()
            if left <= 0:
                self.leave(entry)
                return False
            try:
                entry.wakeup.get(timeout=min(left, CHECK_EVERY))
            except Empty:
                continue
        return True

    def leave(self, entry: Entry) -> None:
        """Remove the entry. A second call does nothing."""
        self.entries.pop(entry, None)
        self.wake()

    def wake(self) -> None:
        """Wake the caller that is admitted now."""
        if len(self.entries) >= self._number:
            for entry in self._admitted():
                if entry.wakeup is not None:
                    entry.wakeup.put(None)

    def _admitted(self) -> list[Entry]:
        return list(self.entries)[: self._number]
