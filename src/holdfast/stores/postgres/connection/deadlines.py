"""Deadlines for statements. They also end a wait in the kernel.

If a server disappears without closing its connections, the client waits in the kernel. Neither the cancellation of a
task nor a timeout of the driver ends that wait. Shutting the socket down ends the wait at once, with an error. One
thread watches all connections, so a blocked event loop does not delay a deadline.
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
"""Seconds between two checks. A socket is shut down at most this long after its deadline."""


class Deadlines:
    """Shuts down sockets whose deadline has passed. The thread ends a few seconds after the last watched socket."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all sockets and the thread."""
        self.lock = threading.Lock()
        self.watched: dict[int, float] = {}
        """When to shut down each socket, by descriptor. Removed under the lock, before the socket is closed."""
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()

    def watch(self, descriptor: int, seconds: float) -> None:
        """Start the deadline of a socket, or replace it."""
        self.watched[descriptor] = time.monotonic() + seconds
        self.ensure_running()

    def done(self, descriptor: int) -> bool:
        """End the deadline; True if it had passed. Call this before the socket is closed."""
        with self.lock:
            return self.watched.pop(descriptor, None) is None

    @contextmanager
    def within(self, descriptor: int, seconds: float) -> Generator[None]:
        """Limit the block to this time. Raises DeadlinePassed if it takes longer."""
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
        if self.watched:  # added between the last check and this line
            self._start()


def shut_down(descriptor: int) -> None:
    """End every wait on this socket, in any thread. The server ends the session."""
    # A duplicate of the descriptor: closing this object must not close the descriptor of the connection.
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


deadlines: Final = Deadlines()
"""The deadlines of this process."""

# A forked child does not inherit the thread, and must not shut down the sockets of its parent.
os.register_at_fork(after_in_child=deadlines.reset)
