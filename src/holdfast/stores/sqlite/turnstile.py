"""Who writes next, within one process: threads and tasks in the order they came.

SQLite lets one connection write at a time, and whoever waits for it sleeps and tries again, in no order. Within a
process we know better.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary


class _Waiter:
    def __init__(self, admit: Callable[[], object]) -> None:
        self.admit = admit
        self.admitted = False


class Turnstile:
    """Admits one at a time. It is handed on directly, so nobody overtakes."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[_Waiter] = deque()
        self.in_transaction = False
        """Whether the one inside is a transaction that the application keeps open."""

    def enter_sync(self, timeout: float) -> bool:
        """Wait for one's turn; False if it did not come in time."""
        if self._enter():
            return True
        turn = threading.Lock()
        turn.acquire()
        waiter = _Waiter(turn.release)
        if self._line_up(waiter):
            return True
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:  # an interrupt by the user
            self._give_up(waiter)
            raise
        return not self._step_out(waiter)

    async def enter(self, timeout: float) -> bool:
        """Wait for one's turn without blocking the loop; False if it did not come in time."""
        if self._enter():
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        waiter = _Waiter(lambda: loop.call_soon_threadsafe(_finish, turn))
        if self._line_up(waiter):
            return True
        try:
            await asyncio.wait_for(turn, timeout)
        except TimeoutError:
            return not self._step_out(waiter)
        except BaseException:
            self._give_up(waiter)
            raise
        return True

    def leave(self) -> None:
        """Let the next one in."""
        while True:
            with self._mutex:
                self.in_transaction = False
                if not self._waiting:
                    self._taken = False
                    return
                waiter = self._waiting.popleft()
                waiter.admitted = True
            try:
                waiter.admit()
            except RuntimeError:  # its event loop is closed, so nobody waits there any more
                continue
            return

    def _enter(self) -> bool:
        """Enter if nobody is inside."""
        with self._mutex:
            if self._taken:
                return False
            self._taken = True
            return True

    def _line_up(self, waiter: _Waiter) -> bool:
        with self._mutex:
            if not self._taken:
                self._taken = waiter.admitted = True
                return True
            self._waiting.append(waiter)
            return False

    def _give_up(self, waiter: _Waiter) -> None:
        if not self._step_out(waiter):
            self.leave()

    def _step_out(self, waiter: _Waiter) -> bool:
        """Stop waiting; False if the turn came at the last moment."""
        with self._mutex:
            if waiter.admitted:
                return False
            self._waiting.remove(waiter)
            return True


_turnstiles: WeakValueDictionary[Path, Turnstile] = WeakValueDictionary()
_registry = threading.Lock()


def turnstile(path: Path) -> Turnstile:
    """The turnstile of a file, the same for every store of this process."""
    with _registry:
        found = _turnstiles.get(path)
        if found is None:
            found = _turnstiles[path] = Turnstile()
        return found


def _finish(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _forget_parent() -> None:
    # Whoever was inside when the process forked is not in the child, and would never leave.
    global _turnstiles, _registry
    _turnstiles = WeakValueDictionary()
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_forget_parent)
