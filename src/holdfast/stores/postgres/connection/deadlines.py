"""Deadlines that hold, whatever a connection is waiting in.

A server that is gone without a word leaves its client waiting in the kernel, where neither a cancelled task nor a
driver's own timeout reaches it. Shutting the socket down does: the wait ends with an error at once. One thread looks
after all connections, so a blocked event loop does not keep it from doing so.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from holdfast.engine.uninterrupted import uninterrupted
from holdfast.stores.postgres.errors import DeadlinePassed

TICK: Final = 0.1
"""Seconds between two looks. A deadline is this late at most."""


class Deadlines:
    """Shuts sockets down whose time is up. The thread runs while there is anything to watch, and a little longer."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.watched: dict[int, float] = {}
        """Socket to the time when it is shut down. Removed under the lock, before the socket is closed."""
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()

    def watch(self, descriptor: int, seconds: float) -> None:
        """From now on, the socket has this long."""
        self.watched[descriptor] = time.monotonic() + seconds
        self.ensure_running()

    def done(self, descriptor: int) -> bool:
        """The wait is over; tells whether it was the deadline that ended it. Called before the socket is closed."""
        with self.lock:
            return self.watched.pop(descriptor, None) is None

    @contextmanager
    def within(self, descriptor: int, seconds: float) -> Generator[None]:
        """The block has this long; DeadlinePassed if that was not enough."""
        self.watch(descriptor, seconds)
        try:
            yield
        except BaseException as error:
            if self.done(descriptor) and isinstance(error, Exception):
                raise DeadlinePassed(f"no answer within {seconds:g} s") from error
            raise
        self.done(descriptor)

    def ensure_running(self) -> None:
        """Start the thread, unless it runs."""
        if self._thread is None:
            uninterrupted(self._start)

    def _start(self) -> None:
        with self.lock:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="holdfast-deadlines", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        quiet = 0
        while quiet < 50:
            self._idle.wait(TICK)
            quiet = 0 if self.watched else quiet + 1
            now = time.monotonic()
            if any(deadline <= now for deadline in list(self.watched.values())):
                with self.lock:
                    for descriptor in [each for each, deadline in self.watched.items() if deadline <= now]:
                        del self.watched[descriptor]
                        shut_down(descriptor)
        self._thread = None
        if self.watched:  # came between the last look and this line
            self._start()


def shut_down(descriptor: int) -> None:
    """End every wait on this socket, in whatever thread, and the server's session with it."""
    # A duplicate: closing this object must not close the connection's own descriptor under its feet.
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


deadlines: Final = Deadlines()
"""One for the process."""


def _forget_parent() -> None:
    # The thread did not come along, nor may this process touch its parent's sockets.
    deadlines.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_forget_parent)
