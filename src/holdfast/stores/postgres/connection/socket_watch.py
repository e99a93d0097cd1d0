"""When a socket can be read, as an event loop tells it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class Readiness:
    """Waits for a socket in the event loop that it was made in.

    If the socket is `ours` alone, the loop watches it on between two waits: to begin and end that each time is most of
    what a wait costs. Where applications use the connection, too, their driver's waits would end our watch.
    """

    def __init__(self, descriptor: int, *, ours: bool) -> None:
        self._descriptor = descriptor
        self._ours = ours
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: asyncio.Future[None] | None = None
        self._watched = False
        self._lags = False
        """Whether the loop may tell once more of what ended the last wait: it looks again before that is read."""

    async def wait(self, *, writes: bool) -> None:
        """Until the socket can be read or, where that is asked for, written to."""
        self._waiting = self._loop.create_future()
        if not self._watched:
            self._loop.add_reader(self._descriptor, self._receive)
            self._watched = True
        if writes:
            self._loop.add_writer(self._descriptor, self._receive)
        try:
            await self._waiting
        finally:
            self._waiting = None
            self._lags = True
            if writes:
                self._loop.remove_writer(self._descriptor)
            if not self._ours:
                self._stop()

    def end(self, close: Callable[[], None]) -> None:
        """Have the socket closed, by a call from any thread, after the loop has stopped to watch it.

        The other way round its number could be another socket's already, which the loop would take for this one.
        """
        if self._watched and self._loop.is_running() and threading.get_ident() != self._thread:
            with suppress(RuntimeError):  # it was closed just now
                self._loop.call_soon_threadsafe(self._end, close)
                return
        self._end(close)

    def _end(self, close: Callable[[], None]) -> None:
        self._stop()
        close()

    def _stop(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._descriptor)

    def _receive(self) -> None:
        if self._waiting is not None:
            if not self._waiting.done():
                self._waiting.set_result(None)
        elif self._lags:
            self._lags = False
        else:
            # The server hangs up while nothing was asked. Whoever takes the connection next will see.
            self._stop()
