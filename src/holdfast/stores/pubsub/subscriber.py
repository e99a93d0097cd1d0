"""Receives wake-ups in a thread that subscribes to the channel and reconnects after every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from holdfast.engine.wakeups import ANYTHING, Hints
from holdfast.stores.pubsub.channel import Channel, Subscribed, Subscription

PING_AFTER = 5.0
"""Seconds without a message after which a ping checks the connection. A second such period without a reply ends it."""
STOP_TIMEOUT = 2.0
RECONNECT_DELAYS = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Seconds before each attempt to reconnect; the last value for all further attempts."""


class Subscriber(threading.Thread):
    """Calls `emit` with the hints of other processes, and with `ANYTHING` after each subscription and each loss.

    After a loss, listeners that sleep for a long time begin to poll.
    """

    def __init__(self, channel: Channel, emit: Callable[[Hints], None]) -> None:
        super().__init__(name=f"holdfast-{channel.kind}-wakeups", daemon=True)
        self.receives = False
        self.problem = "not subscribed yet"
        self.known = threading.Event()
        """Set after the first subscription, or the first failure."""
        self._channel = channel
        self._emit = emit
        self._stopping = threading.Event()
        self._subscription: Subscription | None = None
        self._log = logging.getLogger(f"holdfast.{channel.kind}.wakeups")

    def stop(self) -> None:
        """End the thread, and wait for that at most STOP_TIMEOUT. A thread that is connecting ends afterwards."""
        self._stopping.set()
        subscription = self._subscription
        if subscription is not None:
            subscription.shut_down()
        if threading.current_thread() is not self:
            self.join(STOP_TIMEOUT)

    def run(self) -> None:
        failures, reported = 0, False
        while not self._stopping.is_set():
            try:
                self._receive()
            except Exception as error:  # any error: reconnect
                self.problem = str(error) or type(error).__name__
                if self.receives:
                    failures, reported = 0, False
                if not reported and not self._stopping.is_set():
                    reported = True
                    self._log.warning(
                        "wake-ups of %s are down, polling meanwhile: %s", self._channel.shown, self.problem
                    )
                self._channel.forget()
            finally:
                received, self.receives = self.receives, False
                self.known.set()  # after the log record, so that a test that waits for `known` finds it
                if self._subscription is not None:
                    self._subscription.close()
                    self._subscription = None
                if received and not self._stopping.is_set():
                    self._emit(ANYTHING)
            self._stopping.wait(RECONNECT_DELAYS[min(failures, len(RECONNECT_DELAYS) - 1)])
            failures += 1

    def _receive(self) -> None:
        subscription = self._subscription = self._channel.subscribe()
        pinged = False
        while not self._stopping.is_set():
            try:
                received = subscription.read(PING_AFTER)
            except TimeoutError:
                if pinged:
                    raise
                pinged = True
                subscription.ping()
                continue
            pinged = False
            match received:
                case Subscribed():
                    self.receives = True
                    self.known.set()
                    self._emit(ANYTHING)
                case Hints():
                    self._emit(received)
                case None:
                    pass
