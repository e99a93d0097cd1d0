"""Who listens to the channel of wake-ups: a thread, over one connection after another."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from holdfast.stores.redis.connection.conversation import Cut, Dialect, Refused
from holdfast.stores.redis.connection.node_locator import Route
from holdfast.stores.redis.connection.sync_connection import Line

QUIET = 5.0
"""Seconds of silence after which the connection is asked whether it still stands."""
PATIENCE = 2.0
RECONNECT = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Seconds before each further try to connect; the last for all that follow."""

log = logging.getLogger("holdfast.redis.wakeups")


class Recorder(threading.Thread):
    """Calls `tell` with each message, and with None once it listens: what was said before that is lost."""

    def __init__(self, route: Route, channel: str, *, dialect: Dialect, emit: Callable[[bytes | None], None]) -> None:
        super().__init__(name="holdfast-redis-wakeups", daemon=True)
        self.receives = False
        self.trouble = "nothing was heard so far"
        self.known = threading.Event()
        """Whether it listened, or could not, at least once."""
        self._route = route
        self._channel = channel
        self._dialect = dialect
        self._emit = emit
        self._stopping = threading.Event()
        self._line: Line | None = None

    def stop(self) -> None:
        """End it, and wait for that for a moment: one that is about to connect ends by itself when it has."""
        self._stopping.set()
        line = self._line
        if line is not None:
            line.cut()
        if threading.current_thread() is not self:
            self.join(PATIENCE)

    def run(self) -> None:
        failures, reported = 0, False
        while not self._stopping.is_set():
            try:
                self._listen()
            except Exception as error:  # whatever is on the other end: listening goes on
                self.trouble = str(error) or type(error).__name__
                if self.receives:
                    failures, reported = 0, False
                if not reported and not self._stopping.is_set():
                    reported = True
                    log.warning(
                        "wake-ups of %s are down, polling meanwhile: %s", self._route.address.shown, self.trouble
                    )
                self._route.lose()
            finally:
                self.receives = False
                self.known.set()  # after the word in the log
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
            self._receive(message)

    def _receive(self, message: Any) -> None:
        if isinstance(message, Refused):
            raise Cut(str(message))
        if not isinstance(message, list):
            return
        values: list[Any] = message  # pyright: ignore[reportUnknownVariableType]
        match values[0]:
            case b"message" | b"smessage":
                self._emit(values[2])
            case b"subscribe" | b"ssubscribe":
                self.receives = True
                self.known.set()
                self._emit(None)
            case b"sunsubscribe":
                raise Cut("the channel's slot moved to another node")
            case _:
                pass
