"""A few threads for blocking work of async code.

Leaner than `concurrent.futures`, whose two futures per call cost as much as a small read; and they end with the
program, whether or not the store was closed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")


class Threads:
    """Started with the first work that is given to them."""

    def __init__(self, number: int, name: str) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{index}", daemon=True) for index in range(number)
        ]
        self._started = self._ended = False
        self._starting, self._clearing = threading.Lock(), threading.Lock()

    async def run(self, work: Callable[[], R]) -> R:
        """Do the work in a thread. A task that is cancelled does not wait for its end."""
        return await self.start(work)

    async def finish(self, work: Callable[[], R]) -> R:
        """Do the work in a thread. A task that is cancelled waits for its end: before, nobody knows the outcome."""
        future = self.start(work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            raise

    def start(self, work: Callable[[], R]) -> asyncio.Future[R]:
        """Begin the work in a thread; its outcome is the future's."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self.ask(future, work)
        return future

    def ask(self, future: asyncio.Future[R], work: Callable[[], R]) -> None:
        """Begin the work in a thread, for a future that is there already."""
        self.submit(partial(_do, future, work))

    def submit(self, work: Callable[[], None]) -> None:
        """Do the work in a thread, and tell nobody. It must not raise. Once the threads have ended it is done here."""
        self.get_ready()
        self._queue.put(work)
        if self._ended:
            self._clear()

    def get_ready(self) -> None:
        """Start the threads. RuntimeError: the system has none to give now, and the next call tries again."""
        if not self._started:
            with self._starting:
                if not self._started:
                    for thread in self._threads:
                        if thread.ident is None:
                            thread.start()
                    self._started = True

    def close(self) -> None:
        """Finish what was begun, and end. What comes while they end is done here, behind it. Not to be called twice."""
        with self._starting:
            self._started = True
        started = [thread for thread in self._threads if thread.ident is not None]
        for _ in started:
            self._queue.put(None)
        for thread in started:
            thread.join()
        # In this order: whoever put something in before it could see this leaves it to us.
        self._ended = True
        self._clear()

    def _clear(self) -> None:
        """Do what no thread is left to do, one after the other. Work that asks for more finds somebody at it."""
        while not self._queue.empty() and self._clearing.acquire(blocking=False):
            try:
                while (work := self._queue.get_nowait()) is not None:
                    work()
            except Empty:
                continue
            finally:
                self._clearing.release()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            del work  # it may hold on to an answer


def _do(future: asyncio.Future[R], work: Callable[[], R]) -> None:
    try:
        answer = work()
    except BaseException as error:
        _call(future.get_loop(), _fail, future, error)
    else:
        _call(future.get_loop(), _finish, future, answer)


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *args: Any) -> None:
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:  # the loop is closed, so nobody waits there any more
        return


def _finish(future: asyncio.Future[R], answer: R) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
