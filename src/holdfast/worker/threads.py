"""Threads for plain handlers: as many as are busy at once, reused, and never in the way of the process's exit.

The standard pool joins its threads when the interpreter ends, so one handler that hangs would keep a stopped worker
alive for ever; these are daemons.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")

_Work = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class Threads:
    """Runs plain functions off the event loop. A thread stuck in one costs nobody else a place."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    def submit(self, function: Callable[[], R]) -> asyncio.Future[R]:
        """Run `function` in a thread. Cancelling the future abandons it: the thread goes on, its result is dropped."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                self._count += 1
                thread = threading.Thread(target=self._serve, name=f"{self._name}-{self._count}", daemon=True)
                thread.start()
        self._work.put((function, future))
        return future

    def close(self) -> None:
        """Let every thread end when it has nothing more to do."""
        for _ in range(self._count):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            function, future = work
            try:
                result: Any = function()
                error: BaseException | None = None
            except BaseException as raised:
                result, error = None, raised
            with self._lock:
                self._idle += 1
            try:
                future.get_loop().call_soon_threadsafe(_deliver, future, result, error)
            except RuntimeError:  # the loop has closed: nobody waits any more
                return
            del work, function, future, result, error


def _deliver(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if isinstance(error, StopIteration):  # a future refuses it
        error = RuntimeError(f"the handler raised {error!r}")
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
