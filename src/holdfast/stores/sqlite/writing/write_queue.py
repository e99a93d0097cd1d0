"""The order in which the threads and tasks of one process write to a file.

SQLite lets one connection write at a time, and a connection that waits for the lock sleeps and tries again, in no
order. Within a process the order of arrival is known.

The line itself says who is inside: its first waiter. A waiter that enters is added to the line before it waits, and
one that leaves is removed by a single call, so an exception of a signal handler cannot separate the two. A thread whose
admission was lost to such an exception looks again after `LOOK` seconds.
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

LOOK: Final = 0.05
"""Seconds after which a waiting thread looks whether it is first, although it was not admitted."""


class Waiter:
    """One in the line. `admit` is called when its turn has come; again if an exception interrupted that call."""

    __slots__ = ("_bell", "admit", "admitted", "begun")

    def __init__(self, admit: Callable[[], object] | None = None) -> None:
        self.admitted = False
        self.begun = False
        """Whether what `admit` asks for has begun, so that a second call of it does nothing."""
        self._bell: SimpleQueue[None] | None = None
        self.admit = admit or self._ring

    def sleep(self, seconds: float) -> None:
        """Wait until it is admitted, at most this long."""
        if self._bell is None:
            self._bell = SimpleQueue()
            return  # the caller looks again: an admission may have come before the queue existed
        try:
            self._bell.get(timeout=seconds)
        except Empty:
            return

    def _ring(self) -> None:
        if self._bell is not None:
            self._bell.put(None)


class Turnstile:
    """Admits one at a time, in the order in which they came."""

    def __init__(self) -> None:
        self.line: dict[Waiter, None] = {}
        """The waiter that is inside, then those that wait. To leave is to be removed, followed by `wake`."""
        self._mutex = threading.RLock()
        self.in_transaction = False
        """Whether the one inside is a transaction that the application keeps open."""

    def enter_sync(self, waiter: Waiter, timeout: float) -> bool:
        """Wait for the turn; False if it did not come in time. An error leaves the waiter in the line: call `leave`."""
        self.line[waiter] = None
        if self._first() is waiter:
            waiter.admitted = True
            return True
        deadline = time.monotonic() + timeout
        while self._first() is not waiter:
            left = deadline - time.monotonic()
            if left <= 0:
                self.leave(waiter)
                return False
            waiter.sleep(min(left, LOOK))
            self.wake()
        waiter.admitted = True
        return True

    def line_up(self, waiter: Waiter) -> None:
        """Have its `admit` called once the turn has come: here if no other is inside, else in the thread that leaves.

        It must not block or raise. What it begins is inside, and leaves.
        """
        self.line[waiter] = None
        self.wake()

    def step_out(self, waiter: Waiter) -> bool:
        """Stop waiting; False if the turn has come already."""
        with self._mutex:
            if waiter.admitted:
                return False
            self.leave(waiter)
            return True

    def leave(self, waiter: Waiter) -> None:
        """Let the next one in. Leaving twice does nothing."""
        self.line.pop(waiter, None)
        self.wake()

    def wake(self) -> None:
        """Admit the first in the line."""
        with self._mutex:
            first = self._first()
            if first is not None and not first.admitted:
                first.admit()
                first.admitted = True

    def _first(self) -> Waiter | None:
        while True:
            try:
                return next(iter(self.line), None)
            except RuntimeError:  # another thread entered or left between the two calls
                continue


_turnstiles: WeakValueDictionary[Path, Turnstile] = WeakValueDictionary()
_registry = threading.Lock()


def turnstile(path: Path) -> Turnstile:
    """The turnstile of a file, the same for every store of this process."""
    with _registry:
        found = _turnstiles.get(path)
        if found is None:
            found = _turnstiles[path] = Turnstile()
        return found


def _forget_parent() -> None:
    # The thread that was inside when the process forked does not exist in the child, and would never leave.
    global _turnstiles, _registry
    _turnstiles = WeakValueDictionary()
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)
