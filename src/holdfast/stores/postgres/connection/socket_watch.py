"""Waits until a socket is readable, in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class SocketWatch:
    """Waits for a socket in the event loop that created this object.

    If the connection is `exclusive` to the store, the loop keeps watching the socket between two waits. Starting and
    stopping the watch each time is most of the cost of a wait. If the application uses the connection too, the waits of
    its driver would end our watch.
    """

    def __init__(self, descriptor: int, *, exclusive: bool) -> None:
        self._descriptor = descriptor
        self._exclusive = exclusive
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: asyncio.Future[None] | None = None
        self._watched = False
        self._may_repeat = False
        """True after a wait: the loop may report the same data once more, because it polls before the data is read."""

    async def wait(self, writes: bool) -> None:
        """Wait until the socket is readable; with `writes`, readable or writable."""
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
            self._may_repeat = True
            if writes:
                self._loop.remove_writer(self._descriptor)
            if not self._exclusive:
                self._stop()

    def end(self, close: Callable[[], None]) -> None:
        """Stop the watch, then close the socket by calling `close`. May be called from any thread.

        In the other order another socket could already have the same number, and the loop would watch that one.
        """
        if self._watched and self._loop.is_running() and threading.get_ident() != self._thread:
            with suppress(RuntimeError):  # the loop was closed in the meantime
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
        elif self._may_repeat:
            self._may_repeat = False
        else:
            # The server closed an idle connection. The pool detects that when it takes the connection.
            self._stop()
