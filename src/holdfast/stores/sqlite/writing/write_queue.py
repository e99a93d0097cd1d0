"""The order in which the threads and tasks of one process write to a file.

SQLite lets one connection write at a time. A connection that waits for the lock sleeps and tries again, in no order.
Within a process, the write queue admits writers in the order of their arrival.

The first waiter in the queue is the one that is admitted. A waiter is added to the queue before it waits, and a single
call removes it. An exception of a signal handler can therefore not separate the admission from the queue. If such an
exception interrupts the call that admits a thread, the thread checks the queue itself after `RECHECK` seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final
from weakref import WeakValueDictionary

RECHECK: Final = 0.05
"""Seconds after which a waiting thread checks whether it is first, although it was not admitted."""


class Waiter:
    """An entry of the queue. The queue calls `admit` when the entry is first, and again after an interrupted call."""

    __slots__ = ("_wakeup", "admit", "admitted", "begun")

    def __init__(self, admit: Callable[[], object] | None = None) -> None:
        self.admitted = False
        self.begun = False
        """Whether the work that `admit` requests has begun, so that a second call does nothing."""
        self._wakeup: SimpleQueue[None] | None = None
        self.admit = admit or self._wake

    def sleep(self, seconds: float) -> None:
        """Wait for the admission, at most this long."""
        if self._wakeup is None:
            self._wakeup = SimpleQueue()
            return  # the caller checks again: the admission may have come before the wake-up queue existed
        try:
            self._wakeup.get(timeout=seconds)
        except Empty:
            return

    def _wake(self) -> None:
        if self._wakeup is not None:
            self._wakeup.put(None)


class WriteQueue:
    """Admits one waiter at a time, in the order of arrival."""

    def __init__(self) -> None:
        self.waiters: dict[Waiter, None] = {}
        """The admitted waiter, then the waiting ones. To leave: remove the waiter, then call `admit_first`."""
        self._mutex = threading.RLock()
        self.in_transaction = False
        """Whether the admitted waiter is a transaction that the application keeps open."""

    def enter_sync(self, waiter: Waiter, timeout: float) -> bool:
        """Wait for the admission. Returns False after the timeout.

        After an exception the waiter may still be in the queue: call `leave`.
        """
        self.waiters[waiter] = None
        if self._first() is waiter:
            waiter.admitted = True
            return True
        deadline = time.monotonic() + timeout
        while self._first() is not waiter:
            left = deadline - time.monotonic()
            if left <= 0:
                self.leave(waiter)
                return False
            waiter.sleep(min(left, RECHECK))
            self.admit_first()
        waiter.admitted = True
        return True

    def enter(self, waiter: Waiter) -> None:
        """Add a waiter. Its `admit` is called here if the queue is empty, otherwise in the thread that leaves.

        `admit` must not block or raise. The work that it begins calls `leave` at its end.
        """
        self.waiters[waiter] = None
        self.admit_first()

    def withdraw(self, waiter: Waiter) -> bool:
        """Stop waiting. Returns False if the waiter is already admitted."""
        with self._mutex:
            if waiter.admitted:
                return False
            self.leave(waiter)
            return True

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter and admit the next one. A second call does nothing."""
        self.waiters.pop(waiter, None)
        self.admit_first()

    def admit_first(self) -> None:
        """Admit the first waiter of the queue."""
        with self._mutex:
            first = self._first()
            if first is not None and not first.admitted:
                first.admit()
                first.admitted = True

    def _first(self) -> Waiter | None:
        while True:
            try:
                return next(iter(self.waiters), None)
            except RuntimeError:  # another thread changed the queue between the two calls
                continue


_queues: WeakValueDictionary[Path, WriteQueue] = WeakValueDictionary()
_registry = threading.Lock()


def write_queue(path: Path) -> WriteQueue:
    """The write queue of a file. All stores of this process share it."""
    with _registry:
        found = _queues.get(path)
        if found is None:
            found = _queues[path] = WriteQueue()
        return found


def _discard_inherited() -> None:
    # The thread that was admitted in the parent process does not exist in the child, and would never leave the queue.
    global _queues, _registry
    _queues = WeakValueDictionary()
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_discard_inherited)
