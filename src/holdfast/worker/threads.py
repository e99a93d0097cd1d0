"""Threads for plain handlers: one per running handler, reused. They do not keep the process from exiting.

The standard pool joins its threads when the interpreter exits: a handler that hangs would keep the process of a stopped
worker running forever. These threads are daemon threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_Work = tuple[Callable[[], Any], "asyncio.Future[Ended[Any]]"]


def _wait(coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop) -> Any:
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


wait_on_loop: ContextVar[Callable[[Coroutine[Any, Any, Any], asyncio.AbstractEventLoop], Any]] = ContextVar(
    "holdfast_wait_on_loop", default=_wait
)
"""How the thread of a plain handler waits for a coroutine on the event loop. A test whose thread also executes the
statements of the store replaces it."""


class Ended(Generic[R_co]):
    """The result of a function in a thread: a value or an error.

    The error is not set as the exception of the future. The event loop would throw it into the task that awaits the
    future, and a GeneratorExit thrown into a task closes all of its coroutines.
    """

    def __init__(self, value: R_co | None, error: BaseException | None) -> None:
        self._value = value
        self._error = error

    def value(self) -> R_co:
        """Return the function's value, or raise its error."""
        error, self._error = self._error, None  # a reference would form a cycle with the error's traceback
        try:
            if isinstance(error, StopIteration):  # a coroutine cannot raise it
                raise RuntimeError(f"the handler raised {type(error).__name__}") from error
            if error is not None:
                raise error
        finally:
            del error
        return cast("R_co", self._value)


class Threads:
    """Runs plain functions outside the event loop. Their number is unlimited, so one that hangs blocks no other."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    async def run(self, function: Callable[[], R]) -> R:
        """Run `function` in a thread and await its value. Raises the error of the function."""
        return (await self.submit(function)).value()

    def submit(self, function: Callable[[], R]) -> asyncio.Future[Ended[R]]:
        """Run `function` in a thread. Cancelling the future does not stop the thread; its result is dropped."""
        future: asyncio.Future[Ended[R]] = asyncio.get_running_loop().create_future()
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
        """End every thread after its current function."""
        for _ in range(self._count):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            function, future = work
            try:
                ended: Ended[Any] = Ended(function(), None)
            except BaseException as error:
                ended = Ended(None, error)
            with self._lock:
                self._idle += 1
            try:
                future.get_loop().call_soon_threadsafe(_deliver, future, ended)
            except RuntimeError:  # the event loop is closed
                return
            del work, function, future, ended


def _deliver(future: asyncio.Future[Ended[Any]], ended: Ended[Any]) -> None:
    if not future.cancelled():
        future.set_result(ended)
