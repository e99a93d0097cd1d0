"""The abort signal of an attempt: set once, with a reason, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Literal

AbortReason = Literal[
    "taken_by_another_worker", "already_completed", "not_found", "cancelled", "timeout", "shutdown", "error"
]


class Signal:
    """Tells a handler that its attempt is over before it ended. Async handlers are cancelled as well."""

    __slots__ = ("_callbacks", "_lock", "_reason")

    def __init__(self) -> None:
        self._reason: AbortReason | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def aborted(self) -> bool:
        return self._reason is not None

    @property
    def reason(self) -> AbortReason | None:
        """Why; None while the attempt is good."""
        return self._reason

    async def wait(self) -> AbortReason:
        """Wait until the attempt is aborted."""
        loop = asyncio.get_running_loop()
        aborted = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(aborted.set)

        self.on_abort(wake)
        try:
            await aborted.wait()
        finally:
            self._forget(wake)
        assert self._reason is not None
        return self._reason

    def wait_sync(self, timeout: float | None = None) -> AbortReason | None:
        """Wait in a plain function; None if the time passed first."""
        aborted = threading.Event()
        self.on_abort(aborted.set)
        try:
            aborted.wait(timeout)
        finally:
            self._forget(aborted.set)
        return self._reason

    def fire(self, reason: AbortReason) -> bool:
        """Abort the attempt. The first reason stands; tells whether it is this one."""
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        return True

    def on_abort(self, callback: Callable[[], None]) -> None:
        """Have `callback` called when the signal fires, at once if it has."""
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return
        callback()

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
