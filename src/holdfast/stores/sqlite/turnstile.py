"""Who writes next, within one process: threads and tasks in the order they came.

SQLite lets one connection write at a time, and whoever waits for it sleeps and tries again, in no order. Within a
process we know better.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary


class Waiter:
    """One in the line, and how to tell it that its turn has come."""

    def __init__(self, admit: Callable[[], object]) -> None:
        self.admit = admit
        self.admitted = False


class Turnstile:
    """Admits one at a time. It is handed on directly, so nobody overtakes."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[Waiter] = deque()
        self.in_transaction = False
        """Whether the one inside is a transaction that the application keeps open."""

    def enter_sync(self, timeout: float) -> bool:
        """Wait for one's turn; False if it did not come in time."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                return True
        turn = threading.Lock()
        turn.acquire()
        waiter = self.line_up(turn.release)
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:  # an interrupt by the user
            if not self.step_out(waiter):
                self.leave()
            raise
        return not self.step_out(waiter)

    def line_up(self, admit: Callable[[], object]) -> Waiter:
        """Have `admit` called once the turn has come: here if nobody is inside, else in the thread of whoever leaves.

        It must not block or raise: what it begins is inside, and leaves.
        """
        waiter = Waiter(admit)
        with self._mutex:
            if self._taken:
                self._waiting.append(waiter)
                return waiter
            self._taken = waiter.admitted = True
        admit()
        return waiter

    def step_out(self, waiter: Waiter) -> bool:
        """Stop waiting; False if the turn has come already."""
        with self._mutex:
            if waiter.admitted:
                return False
            self._waiting.remove(waiter)
            return True

    def leave(self) -> None:
        """Let the next one in."""
        with self._mutex:
            self.in_transaction = False
            if not self._waiting:
                self._taken = False
                return
            waiter = self._waiting.popleft()
            waiter.admitted = True
        waiter.admit()


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
    # Whoever was inside when the process forked is not in the child, and would never leave.
    global _turnstiles, _registry
    _turnstiles = WeakValueDictionary()
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)
