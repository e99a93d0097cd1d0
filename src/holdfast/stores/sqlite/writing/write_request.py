"""A request to the writer, and how its caller is woken."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from holdfast.engine.operations import Operation


class WriteRequest:
    """A writing operation, and the thread or task that waits for it."""

    __slots__ = ("done", "error", "future", "given_up", "operation", "result", "since")

    def __init__(self, operation: Operation[Any], future: asyncio.Future[None] | None = None) -> None:
        self.operation = operation
        self.future = future
        self.since = monotonic()
        self.done = False
        self.given_up = False
        self.result: Any = None
        self.error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        self.done, self.error = True, error

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


def wake_callers(together: list[WriteRequest]) -> None:
    """Wake the tasks that wait for these requests, each in its own event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for request in together:
        if request.future is not None:
            by_loop.setdefault(request.future.get_loop(), []).append(request.future)
    for loop, futures in by_loop.items():
        try:
            loop.call_soon_threadsafe(_finish, futures)
        except RuntimeError:  # the loop is closed, so no task waits there
            continue


def _finish(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
