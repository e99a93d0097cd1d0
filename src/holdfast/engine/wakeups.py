"""Wake-ups: hints that there may be something to do. A lost hint costs time, never a job."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import msgspec

log = logging.getLogger("holdfast")


class Hints(msgspec.Struct):
    """What a commit may have changed for others: types with due jobs, finished chains, lost claims, drained workers.

    `anything` stands for an unknown change: each listener then looks in the store.
    """

    due: set[str] = set()
    finished: set[str] = set()
    lost: set[str] = set()
    recorded: bool = False
    """Events were recorded for listeners."""
    anything: bool = False
    workers: set[str] = set()
    """Workers that were asked to stop."""

    def __bool__(self) -> bool:
        return bool(self.due or self.finished or self.lost or self.recorded or self.anything or self.workers)

    def add(self, other: Hints) -> None:
        """Add the content of other hints to these."""
        self.due |= other.due
        self.finished |= other.finished
        self.lost |= other.lost
        self.recorded |= other.recorded
        self.anything |= other.anything
        self.workers |= other.workers


ANYTHING = Hints(anything=True)

Listener = Callable[[Hints], None]


class Wakeups(Protocol):
    """Delivers hints between all processes that use a store. `holdfast.testing.wakeups` tests an implementation.

    A hint may arrive late, twice, merged with others, as `anything`, or not at all. No method raises because of a
    broken connection: the sender has already committed, and a worker that receives nothing polls. Any thread may call
    any method, also the thread of an event loop. So no method waits for the network.
    """

    @property
    def healthy(self) -> bool:
        """Whether hints of other processes arrive. While False, workers poll every second."""
        ...

    def send(self, hints: Hints) -> None:
        """Send hints to all listeners, in this process and in others, after the commit. The hints are not changed."""
        ...

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener`, from any thread, until the returned function is called. That may be called repeatedly.

        Every listener receives `ANYTHING` at the first connection and after each reconnection: hints may have been
        missed. It also receives `ANYTHING` when the connection is lost: from then on it must poll.
        """
        ...


@runtime_checkable
class ConnectedWakeups(Wakeups, Protocol):
    """Wake-ups with a connection of their own, created from an address. The store opens and closes them."""

    name: str
    """The address without the password, for messages."""

    @property
    def problem(self) -> str | None:
        """Why hints do not arrive, for messages. None while they arrive, and before `open`."""
        ...

    def open(self, timeout: float = 2.0) -> None:
        """Start to listen. Wait at most this many seconds for the result.

        A failure does not raise: the connection is retried in the background.
        """
        ...

    def close(self) -> None:
        """Send the remaining hints if that is possible without delay, then close all connections and threads.

        Listeners stay subscribed and receive hints again after the next `open`. Closing twice does nothing.
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
                # The sender has committed. An error of one listener must not reach it or the other listeners.
                log.exception("a listener raised on a wake-up")

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        with self._lock:
            number = self._next
            self._next += 1
            self._listeners[number] = listener
        return lambda: self._unsubscribe(number)

    def _unsubscribe(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)


class NoWakeups:
    """Wake-ups that deliver nothing: workers and waiting callers poll."""

    @property
    def healthy(self) -> bool:
        return False

    def send(self, hints: Hints) -> None:
        """Discard the hints."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return lambda: None
