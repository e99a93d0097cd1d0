"""The slots of a pool: how many connections it may use at once, and which callers wait for one.

A semaphore whose state shows which callers occupy it: the first `number` slots in the queue are admitted, the others
wait. A slot is added before its caller waits, and removed by a single call. So an exception of a signal handler never
leaves one behind: see `holdfast.engine.uninterrupted`.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Final

CHECK_EVERY: Final = 0.05
"""Seconds after which a waiting thread checks again, without a wake-up."""


class Slot:
    """The position of one caller in the queue."""

    __slots__ = ("wakeup",)

    def __init__(self) -> None:
        self.wakeup: SimpleQueue[None] | None = None


class PoolSlots:
    """Admits `number` callers at once, in the order of their arrival. Thread-safe."""

    def __init__(self, number: int) -> None:
        self.queue: dict[Slot, None] = {}
        """A caller leaves by removing its slot and then calling `wake`."""
        self._number = number

    def enter(self, slot: Slot, timeout: float) -> bool:
        """Wait until the slot is admitted; False after the timeout. The caller leaves after an error and when done."""
        self.queue[slot] = None
        if len(self.queue) <= self._number:
            return True
        slot.wakeup = SimpleQueue()
        deadline = time.monotonic() + timeout
        while slot not in self._admitted():
            left = deadline - time.monotonic()
            if left <= 0:
                self.leave(slot)
                return False
            try:
                slot.wakeup.get(timeout=min(left, CHECK_EVERY))
            except Empty:
                continue
        return True

    def leave(self, slot: Slot) -> None:
        """Remove the slot. A second call does nothing."""
        self.queue.pop(slot, None)
        self.wake()

    def wake(self) -> None:
        """Wake the caller that is admitted now."""
        if len(self.queue) >= self._number:
            for slot in self._admitted():
                if slot.wakeup is not None:
                    slot.wakeup.put(None)

    def _admitted(self) -> list[Slot]:
        return list(self.queue)[: self._number]
