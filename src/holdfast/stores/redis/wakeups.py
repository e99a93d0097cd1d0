"""Wake-ups by pub/sub: the scripts publish, a thread listens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.errors import StoreUnavailable
from holdfast.stores.redis.exchange import CUT, Cut, Dialect, Moved, Questions, Refused
from holdfast.stores.redis.line import Line
from holdfast.stores.redis.links import Links
from holdfast.stores.redis.route import Route
from holdfast.stores.redis.wire import encode, hinted
from holdfast.wakeups import ANYTHING, Hints, Listener, LocalWakeups

QUIET = 5.0
"""Seconds of silence after which the connection is asked whether it still stands."""
RECONNECT = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Seconds before each further try to connect; the last for all that follow."""

_log = logging.getLogger("holdfast.redis.wakeups")


class RedisWakeups:
    """Hints between everyone who uses a namespace.

    The first subscriber starts a thread with a connection of its own. Whenever it has connected, all are told to look
    for themselves, since hints may have passed meanwhile. It also serves as the wake-ups of another kind of store.
    """

    def __init__(self, route: Route, channel: str, dialect: Dialect) -> None:
        self._route = route
        self._channel = channel
        self._dialect = dialect
        self._local = LocalWakeups()
        self._lock = threading.Lock()
        self._thread: _Ear | None = None
        self._links = Links(route)

    @property
    def healthy(self) -> bool:
        ear = self._thread
        return ear is not None and ear.hears and ear.is_alive()

    def send(self, hints: Hints) -> None:
        """Publish hints of a store whose commits are made elsewhere. The scripts of this one publish by themselves."""
        message = encode(
            {"due": list(hints.due), "finished": list(hints.finished), "lost": list(hints.lost)}
            | {"recorded": hints.recorded, "anything": hints.anything}
        )
        try:
            self._links.talk(Questions((self._dialect.publish, self._channel, message)))
        except (StoreUnavailable, Moved):
            _log.warning("a wake-up could not be sent; whoever waits for it polls")

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        unsubscribe = self._local.subscribe(listener)
        with self._lock:
            # In a forked child the parent's thread is not alive.
            if self._thread is None or not self._thread.is_alive():
                self._thread = _Ear(self._route, self._channel, dialect=self._dialect, tell=self._local.send)
                self._thread.start()
        return unsubscribe

    def close(self) -> None:
        """End the thread. Subscribers stay, and hear again after the next subscription."""
        with self._lock:
            ear, self._thread = self._thread, None
        if ear is not None:
            ear.stop()
        self._links.close()


class _Ear(threading.Thread):
    """Listens to the channel, over one connection after another."""

    def __init__(self, route: Route, channel: str, *, dialect: Dialect, tell: Callable[[Hints], None]) -> None:
        super().__init__(name="holdfast-redis-wakeups", daemon=True)
        self.hears = False
        self._route = route
        self._channel = channel
        self._dialect = dialect
        self._tell = tell
        self._stopping = threading.Event()
        self._line: Line | None = None

    def stop(self) -> None:
        self._stopping.set()
        line = self._line
        if line is not None and self.hears:
            try:
                # Any answer wakes the thread, which then sees that it is over.
                line.send(("PING", "stop"))
            except CUT:
                _log.debug("the connection was gone already")
        if threading.current_thread() is not self:
            self.join()

    def run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                self._listen()
            except CUT as error:
                if self.hears:
                    failures = 0
                    _log.info("listening again after: %s", error)
                self._route.lose()
            finally:
                self.hears = False
                if self._line is not None:
                    self._line.close()
                    self._line = None
            self._stopping.wait(RECONNECT[min(failures, len(RECONNECT) - 1)])
            failures += 1

    def _listen(self) -> None:
        line = self._line = self._route.connect(self._route.address.timeout)
        sharded = self._dialect.publish == "SPUBLISH"
        line.send(("SSUBSCRIBE" if sharded else "SUBSCRIBE", self._channel))
        asked = False
        while not self._stopping.is_set():
            try:
                message = line.read(QUIET)
            except TimeoutError:
                if asked:
                    raise
                asked = True
                line.send(("PING",))
                continue
            asked = False
            self._hear(message)

    def _hear(self, message: Any) -> None:
        if isinstance(message, Refused):
            raise Cut(str(message))
        if not isinstance(message, list):
            return
        values: list[Any] = message  # pyright: ignore[reportUnknownVariableType]
        match values[0]:
            case b"message" | b"smessage":
                self._pass_on(values[2])
            case b"subscribe" | b"ssubscribe":
                self.hears = True
                self._pass_on(None)
            case b"sunsubscribe":
                raise Cut("the channel's slot moved to another node")
            case _:
                pass

    def _pass_on(self, message: bytes | None) -> None:
        hints = ANYTHING if message is None else _read(message)
        try:
            self._tell(hints)
        except Exception:
            _log.exception("a listener raised on a wake-up")


def _read(message: bytes) -> Hints:
    try:
        told = hinted(message)
    except msgspec.MsgspecError:
        return ANYTHING
    return Hints(set(told.due), set(told.finished), set(told.lost), told.recorded, told.anything)
