"""Receives wake-ups in a thread that subscribes to the channel and reconnects after every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from holdfast.stores.redis.connection.conversation import ConnectionLost, ErrorReply, ServerFeatures
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.connection.sync_connection import SyncConnection

PING_AFTER = 5.0
"""Seconds without a message after which a PING checks the connection. A second such period without a reply ends it."""
STOP_TIMEOUT = 2.0
RECONNECT_DELAYS = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Seconds before each attempt to reconnect; the last value for all further attempts."""

log = logging.getLogger("holdfast.redis.wakeups")


class Subscriber(threading.Thread):
    """Calls `emit` with each message, and with None after each subscription: earlier messages are lost."""

    def __init__(
        self, locator: NodeLocator, channel: str, *, features: ServerFeatures, emit: Callable[[bytes | None], None]
    ) -> None:
        super().__init__(name="holdfast-redis-wakeups", daemon=True)
        self.receives = False
        self.problem = "not subscribed yet"
        self.known = threading.Event()
        """Set after the first subscription, or the first failure."""
        self._locator = locator
        self._channel = channel
        self._features = features
        self._emit = emit
        self._stopping = threading.Event()
        self._connection: SyncConnection | None = None

    def stop(self) -> None:
        """End the thread, and wait for that at most STOP_TIMEOUT. A thread that is connecting ends afterwards."""
        self._stopping.set()
        connection = self._connection
        if connection is not None:
            connection.shut_down()
        if threading.current_thread() is not self:
            self.join(STOP_TIMEOUT)

    def run(self) -> None:
        failures, reported = 0, False
        while not self._stopping.is_set():
            try:
                self._subscribe()
            except Exception as error:  # any error: reconnect
                self.problem = str(error) or type(error).__name__
                if self.receives:
                    failures, reported = 0, False
                if not reported and not self._stopping.is_set():
                    reported = True
                    log.warning(
                        "wake-ups of %s are down, polling meanwhile: %s", self._locator.address.shown, self.problem
                    )
                self._locator.forget()
            finally:
                self.receives = False
                self.known.set()  # after the log record, so that a test that waits for `known` finds it
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
            self._stopping.wait(RECONNECT_DELAYS[min(failures, len(RECONNECT_DELAYS) - 1)])
            failures += 1

    def _subscribe(self) -> None:
        connection = self._connection = self._locator.connect(self._locator.address.timeout)
        sharded = self._features.publish == "SPUBLISH"
        connection.send(("SSUBSCRIBE" if sharded else "SUBSCRIBE", self._channel))
        pinged = False
        while not self._stopping.is_set():
            try:
                message = connection.read(PING_AFTER)
            except TimeoutError:
                if pinged:
                    raise
                pinged = True
                connection.send(("PING",))
                continue
            pinged = False
            self._receive(message)

    def _receive(self, message: Any) -> None:
        if isinstance(message, ErrorReply):
            raise ConnectionLost(str(message))
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
                raise ConnectionLost("the channel's slot moved to another node")
            case _:
                pass
