"""Waits in an event loop until a socket is readable, and reads it. Checks whether an idle socket is readable."""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg
from psycopg import pq


class SocketWatch:
    """Waits for a socket in the event loop that created this object.

    The callback of the loop reads the data. The loop polls again before the waiting task runs. So if the task read the
    data, the loop would report the same data twice.

    While the connection is `exclusive` to the store, the loop keeps watching the socket between two waits. Starting and
    stopping the watch each time is most of the cost of a wait. The last wait before the application uses the connection
    must not be exclusive: the waits of the application's driver would end our watch.
    """

    def __init__(self, descriptor: int, read: Callable[[], None], *, exclusive: bool) -> None:
        self._descriptor = descriptor
        self._read = read
        self.exclusive = exclusive
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._waiting: asyncio.Future[None] | None = None
        self._watched = False

    async def wait(self, writes: bool) -> None:
        """Wait until data was read; with `writes`, or until the socket is writable. Raises the error of the read."""
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
            if writes:
                self._loop.remove_writer(self._descriptor)
            if not self.exclusive:
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
        if self._waiting is None:
            # The server closed an idle connection. The pool detects that when it takes the connection.
            self._stop()
        elif not self._waiting.done():
            try:
                self._read()
            except Exception as error:
                self._waiting.set_exception(error)
            else:
                self._waiting.set_result(None)


def is_readable(connection: pq.abc.PGconn) -> bool:
    """True if an idle socket is readable: the server closed it, or the protocol is out of sync."""
    try:
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, psycopg.Error):
        return True
