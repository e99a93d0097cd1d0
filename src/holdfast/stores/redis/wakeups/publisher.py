"""Publishes wake-ups from a thread, so that a commit never waits for Redis."""

from __future__ import annotations

import logging
import threading

from holdfast.engine.hint_buffer import HintBuffer, SendPause
from holdfast.engine.wake_flag import ThreadFlag
from holdfast.engine.wakeups import Hints
from holdfast.stores.redis.connection.connection_pool import ConnectionPool
from holdfast.stores.redis.connection.conversation import CommandConversation, ErrorReply, ServerFeatures
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.verbs.encode import pack

RETRY_DELAYS = (0.1, 0.5, 1.0, 2.0)
"""Seconds before each retry of a failed publish; the last value for all further retries."""

STOP_TIMEOUT = 2.0

log = logging.getLogger("holdfast.redis.wakeups")


class Publisher(threading.Thread):
    """Publishes the gathered hints. After a failure it keeps them, adds newer ones, and retries."""

    def __init__(
        self, locator: NodeLocator, channel: str, *, features: ServerFeatures, source: str, waiting: HintBuffer
    ) -> None:
        super().__init__(name="holdfast-redis-hints", daemon=True)
        self._store_name = locator.address.shown
        self._channel = channel
        self._features = features
        self._source = source
        self._waiting = waiting
        self._pool = ConnectionPool(locator)
        self._changed = ThreadFlag()
        self._stopping = threading.Event()

    def ring(self) -> None:
        """Hints are waiting to be published."""
        self._changed.set()

    def stop(self) -> None:
        """Publish what is left, unless the last publish failed, and end. Waits for that at most STOP_TIMEOUT."""
        self._stopping.set()
        self._changed.set()
        if threading.current_thread() is not self:
            self.join(STOP_TIMEOUT)

    def run(self) -> None:
        gap, failures = SendPause(), 0
        while True:
            self._changed.wait()
            if self._waiting and not (failures and self._stopping.is_set()):
                self._stopping.wait(gap.wait())
                failures = 0 if self._publish(self._waiting.take()) else failures + 1
                gap.sent()
            if self._stopping.is_set():
                self._pool.close()
                return
            if self._waiting:
                self._changed.set()
                if failures:
                    self._stopping.wait(RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1])

    def _publish(self, hints: Hints) -> bool:
        message = {"due": list(hints.due), "finished": list(hints.finished), "lost": list(hints.lost)}
        flags = {"recorded": hints.recorded, "anything": hints.anything, "source": self._source}
        workers = {"workers": list(hints.workers)} if hints.workers else {}
        command = (self._features.publish, self._channel, pack(message | flags | workers))
        try:
            (reply,) = self._pool.run(CommandConversation(command))
        except Exception as error:  # any error: keep the hints and retry
            self._waiting.add(hints)
            log.debug("a wake-up waits: %s", error)
            return False
        if isinstance(reply, ErrorReply):
            # A retry would get the same error. Listeners poll, or get hints from other processes.
            log.warning("wake-ups of %s cannot be sent: %s", self._store_name, reply)
        return True
