"""A few threads for blocking work of async code.

`concurrent.futures` creates two futures per call, which takes as long as a small read. These threads are also daemons:
they end with the program, even if the store was not closed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")


class ThreadPool:
    """A fixed number of threads. The first work starts them."""

    def __init__(self, number: int, name: str) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{index}", daemon=True) for index in range(number)
        ]
        self._started = self._ended = False
        self._starting, self._clearing = threading.Lock(), threading.Lock()

    @property
    def ended(self) -> bool:
        """Whether `close` was called: the calling thread would do further work itself."""
        return self._ended

    async def run(self, work: Callable[[], R]) -> R:
        """Do the work in a thread. A cancelled task does not wait until it is done."""
        return await self.start(work)

    async def finish(self, work: Callable[[], R]) -> R:
        """Do the work in a thread. A cancelled task waits until it is done: before that the outcome is unknown.

        Only for a pool of one thread, which does its work in order.
        """
        future = self.start(work)
        try:
            # Not `asyncio.shield`: that would be one more iteration of the event loop for each call.
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                await self.start(_nothing)
            else:
                future.exception()
            raise

    def start(self, work: Callable[[], R]) -> asyncio.Future[R]:
        """Begin the work in a thread. The future receives its result."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self.submit(partial(self._do, future, work))
        return future

    def submit(self, work: Callable[[], None]) -> None:
        """Do the work in a thread, without a result. It must not raise. After `close`, the calling thread does it."""
        self.get_ready()
        self._queue.put(work)
        if self._ended:
            self._clear()

    def get_ready(self) -> None:
        """Start the threads. RuntimeError if the system cannot start one; the next call tries again."""
        if not self._started:
            with self._starting:
                self._start_all()

    def _start_all(self) -> None:
        if not self._started:
            for thread in self._threads:
                if thread.ident is None:
                    thread.start()
            self._started = True

    def close(self) -> None:
        """Do the remaining work and end the threads. This call also does work that arrives meanwhile. Call it once."""
        with self._starting:
            self._started = True
        started = [thread for thread in self._threads if thread.ident is not None]
        for _ in started:
            self._queue.put(None)
        for thread in started:
            thread.join()
        # In this order: a caller that does not see `_ended` yet relies on `_clear` below.
        self._ended = True
        self._clear()

    def _clear(self) -> None:
        """Do the work that is left after the threads have ended. Work that submits more work does not recurse."""
        while not self._queue.empty() and self._clearing.acquire(blocking=False):
            try:
                self._do_queued()
            finally:
                self._clearing.release()

    def _do_queued(self) -> None:
        while (work := self._next_queued()) is not None:
            work()
            self._work_done()

    def _next_queued(self) -> Callable[[], None] | None:
        try:
            return self._queue.get_nowait()
        except Empty:
            return None

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # it may keep a result alive
            self._work_done()

    def _do(self, future: asyncio.Future[R], work: Callable[[], R]) -> None:
        try:
            answer = work()
        except BaseException as error:
            self._answer(future.get_loop(), _fail, future, error)
        else:
            self._answer(future.get_loop(), _finish, future, answer)

    def _answer(self, loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed, so no task waits there
            loop.call_soon_threadsafe(call, *args)

    def _work_done(self) -> None:
        """Called in the thread after each work."""


def _finish(future: asyncio.Future[R], answer: R) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _nothing() -> None:
    return
