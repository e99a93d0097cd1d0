"""Wake-ups: hints that there may be something to do. Losing one costs time, never a job."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Protocol, runtime_checkable

log = logging.getLogger("holdfast")


@dataclass(slots=True)
class Hints:
    """What a commit may have changed for others: job types with something due, finished chains, lost claims.

    `anything` stands for a change of unknown content: whoever hears it looks for itself.
    """

    # Not `set[str]`: to call that takes five times as long as `set`, and every write makes hints.
    due: set[str] = field(default_factory=lambda: set())
    finished: set[str] = field(default_factory=lambda: set())
    lost: set[str] = field(default_factory=lambda: set())
    recorded: bool = False
    """Events were recorded for listeners."""
    anything: bool = False

    def __bool__(self) -> bool:
        return bool(self.due or self.finished or self.lost or self.recorded or self.anything)

    def add(self, other: Hints) -> None:
        """Tell what the other tells, too."""
        self.due |= other.due
        self.finished |= other.finished
        self.lost |= other.lost
        self.recorded |= other.recorded
        self.anything |= other.anything


ANYTHING = Hints(anything=True)

Listener = Callable[[Hints], None]


class Wakeups(Protocol):
    """Carries hints between everyone who uses a store. Whoever writes one runs `holdfast.testing.wakeups` against it.

    A hint may come late, twice, together with others, or as `anything`, and may be lost. Nothing here raises for a
    broken connection: a sender has committed already, and whoever hears nothing polls. Any thread may call anything,
    an event loop's too, so nothing waits for a network either.
    """

    @property
    def healthy(self) -> bool:
        """Whether hints of other processes arrive. When not, workers poll every second."""
        ...

    def send(self, hints: Hints) -> None:
        """Tell all listeners, here and elsewhere. Called after the commit; the hints stay the caller's."""
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called, from any thread, until the returned function is called, once or more often.

        Once hints could have been missed, because a connection was away or has only just been made, every listener is
        told `ANYTHING`.
        """
        ...


@runtime_checkable
class ConnectedWakeups(Wakeups, Protocol):
    """Wake-ups with a connection: what an address stands for. A store opens and closes those that it made."""

    name: str
    """The address, for people: without any password."""

    @property
    def trouble(self) -> str | None:
        """Why hints do not arrive, for people. None while they do, and while nobody has opened it."""
        ...

    def open(self, patience: float = 2.0) -> None:
        """Begin to listen, and wait at most this many seconds until it is known whether that works.

        Does not raise where it does not: wake-ups come back by themselves.
        """
        ...

    def close(self) -> None:
        """Send what is left, if that is quickly done, and let go of every connection and thread.

        Listeners stay, and hear again when it is opened again. Closing what is closed does nothing.
        """
        ...


class LocalWakeups:
    """Wake-ups within one process."""

    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._next = 0
        self._lock = threading.Lock()

    @property
    def healthy(self) -> bool:
        return True

    def send(self, hints: Hints) -> None:
        for listener in list(self._listeners.values()):
            try:
                listener(hints)
            except Exception:
                # Whoever sends has committed: neither they nor the other listeners pay for it.
                log.exception("a listener raised on a wake-up")

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        with self._lock:
            number = self._next
            self._next += 1
            self._listeners[number] = listener
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)


class NoWakeups:
    """Wake-ups that never arrive: everything goes by polling."""

    @property
    def healthy(self) -> bool:
        return False

    def send(self, hints: Hints) -> None:
        """Nobody hears it."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return lambda: None


class Bell:
    """A flag that one thread waits for and clears. Made of C calls: see `holdfast.engine.uninterrupted`."""

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    @property
    def is_rung(self) -> bool:
        return not self._rings.empty()

    def ring(self) -> None:
        if self._rings.empty():
            self._rings.put(None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is rung, and clear it; False if it was not rung in time."""
        try:
            self._rings.get(timeout=None if timeout is None else max(timeout, 0.0))
        except Empty:
            return False
        self.silence()
        return True

    def silence(self) -> bool:
        """Clear it; whether it was rung."""
        rung = False
        while not self._rings.empty():
            try:
                self._rings.get_nowait()
            except Empty:
                break
            rung = True
        return rung


class Alarm:
    """Lets one waiter sleep until somebody rings, from any thread. A ring is never lost: it ends the next wait too."""

    def __init__(self) -> None:
        self._bell = Bell()
        self._future: asyncio.Future[None] | None = None
        self._thread = 0

    def ring(self) -> None:
        if self._bell.is_rung:
            return
        self._bell.ring()
        future = self._future
        if future is None:
            return
        if threading.get_ident() == self._thread:
            _finish(future)
            return
        try:
            future.get_loop().call_soon_threadsafe(_finish, future)
        except RuntimeError:  # the loop is closed, so nobody waits any more
            return

    def wait_sync(self, timeout: float) -> bool:
        """Wait for a ring; tells whether there was one."""
        return self._bell.wait(timeout)

    async def wait(self, timeout: float) -> bool:
        """Wait for a ring; tells whether there was one."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._thread = threading.get_ident()
        self._future = future
        # The future is published before the look at the flag: a ring in between is seen by one of the two.
        handle = loop.call_later(timeout, _finish, future)
        try:
            if not self._bell.is_rung:
                await future
        finally:
            self._future = None
            handle.cancel()
        return self._bell.silence()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
