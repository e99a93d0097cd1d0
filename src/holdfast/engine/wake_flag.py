"""Flags that end a wait: one for a thread, one for a thread or an asyncio task."""

from __future__ import annotations

import asyncio
import threading
from queue import Empty, SimpleQueue


class ThreadFlag:
    """A flag that one thread waits for and clears. Built from C calls: see `holdfast.engine.uninterrupted`."""

    def __init__(self) -> None:
        self._entries: SimpleQueue[None] = SimpleQueue()

    @property
    def is_set(self) -> bool:
        return not self._entries.empty()

    def set(self) -> None:
        if self._entries.empty():
            self._entries.put(None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the flag is set, and clear it. False after the timeout."""
        try:
            self._entries.get(timeout=None if timeout is None else max(timeout, 0.0))
        except Empty:
            return False
        self.clear()
        return True

    def clear(self) -> bool:
        """Clear the flag. True if it was set."""
        was_set = False
        while not self._entries.empty():
            try:
                self._entries.get_nowait()
            except Empty:
                break
            was_set = True
        return was_set


class WakeFlag:
    """A flag that one thread or task waits for and any thread may set.

    If the flag is set while no one waits, the next wait returns at once. A wait clears the flag.
    """

    def __init__(self) -> None:
        self._flag = ThreadFlag()
        self._future: asyncio.Future[None] | None = None
        self._thread = 0

    def set(self) -> None:
        if self._flag.is_set:
            return
        self._flag.set()
        future = self._future
        if future is None:
            return
        if threading.get_ident() == self._thread:
            _finish(future)
            return
        try:
            future.get_loop().call_soon_threadsafe(_finish, future)
        except RuntimeError:  # the event loop is closed, so no task waits
            return

    def wait_sync(self, timeout: float) -> bool:
        """Block until the flag is set, and clear it. False after the timeout."""
        return self._flag.wait(timeout)

    async def wait(self, timeout: float) -> bool:
        """Wait until the flag is set, and clear it. False after the timeout."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._thread = threading.get_ident()
        self._future = future
        # The future is stored before the flag is read: a `set` in between is seen by one of the two.
        handle = loop.call_later(timeout, _finish, future)
        try:
            if not self._flag.is_set:
                await future
        finally:
            self._future = None
            handle.cancel()
        return self._flag.clear()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
