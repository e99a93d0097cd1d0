"""The abort signal of an attempt: set once, with a reason, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import msgspec

AbortReason = Literal[
    "taken_by_another_worker", "already_completed", "not_found", "cancelled", "timeout", "shutdown", "error"
]

# One lock serves all signals. A thread holds it only briefly, and few attempts use their signal.
_lock = threading.Lock()


class Signal(msgspec.Struct, eq=False, gc=False, repr_omit_defaults=True):
    """Reports to a handler that its attempt was aborted. An async handler is also cancelled."""

    _reason: AbortReason | None = None
    _callbacks: tuple[Callable[[], object], ...] = ()

    @property
    def aborted(self) -> bool:
        return self._reason is not None

    @property
    def reason(self) -> AbortReason | None:
        """The reason of the abort; None if the attempt was not aborted."""
        return self._reason

    async def wait(self) -> AbortReason:
        """Wait until the attempt is aborted."""
        loop = asyncio.get_running_loop()
        aborted = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the handler started its own event loop and has closed it
                loop.call_soon_threadsafe(aborted.set)

        self._add(wake)
        try:
            await aborted.wait()
        finally:
            self._remove(wake)
        assert self._reason is not None
        return self._reason

    def wait_sync(self, timeout: float | None = None) -> AbortReason | None:
        """The blocking variant of `wait`, for plain functions. Returns None if the timeout expires first."""
        aborted = threading.Event()
        self._add(aborted.set)
        try:
            aborted.wait(timeout)
        finally:
            self._remove(aborted.set)
        return self._reason

    def fire(self, reason: AbortReason) -> bool:
        """Abort the attempt. Only the first reason counts. Returns True if this call was the first."""
        with _lock:
            if self._reason is not None:
                return False
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, ()
        for callback in callbacks:
            callback()
        return True

    def forget(self) -> None:
        """Drop the callbacks of tasks that still wait: the attempt has ended and cannot be aborted any more."""
        if self._callbacks:
            with _lock:
                self._callbacks = ()

    def _add(self, callback: Callable[[], object]) -> None:
        with _lock:
            if self._reason is None:
                self._callbacks += (callback,)
                return
        callback()

    def _remove(self, callback: Callable[[], object]) -> None:
        with _lock:
            self._callbacks = tuple(each for each in self._callbacks if each != callback)
