"""Who publishes wake-ups: a thread, so that whoever committed never waits for Redis."""

from __future__ import annotations

import logging
import threading

from holdfast.engine.hint_buffer import Gap, Gathered
from holdfast.engine.wakeups import Bell, Hints
from holdfast.stores.redis.connection.connection_pool import Links
from holdfast.stores.redis.connection.conversation import Dialect, Questions, Refused
from holdfast.stores.redis.connection.node_locator import Route
from holdfast.stores.redis.verbs.decode import encode

AGAIN = (0.1, 0.5, 1.0, 2.0)
"""Seconds before each further try to say what could not be said; the last for all that follow."""

PATIENCE = 2.0

log = logging.getLogger("holdfast.redis.wakeups")


class Mouth(threading.Thread):
    """Says what is gathered. What cannot be said is kept, joined by what comes meanwhile, and said when it can be."""

    def __init__(self, route: Route, channel: str, *, dialect: Dialect, source: str, waiting: Gathered) -> None:
        super().__init__(name="holdfast-redis-hints", daemon=True)
        self._name = route.address.shown
        self._channel = channel
        self._dialect = dialect
        self._source = source
        self._waiting = waiting
        self._links = Links(route)
        self._changed = Bell()
        self._stopping = threading.Event()

    def ring(self) -> None:
        """There is something to say."""
        self._changed.ring()

    def stop(self) -> None:
        """Say what is left, unless the last try failed, and end; that is waited for only for a moment."""
        self._stopping.set()
        self._changed.ring()
        if threading.current_thread() is not self:
            self.join(PATIENCE)

    def run(self) -> None:
        gap, failures = Gap(), 0
        while True:
            self._changed.wait()
            if self._waiting and not (failures and self._stopping.is_set()):
                self._stopping.wait(gap.wait())
                failures = 0 if self._say(self._waiting.take()) else failures + 1
                gap.sent()
            if self._stopping.is_set():
                self._links.close()
                return
            if self._waiting:
                self._changed.ring()
                if failures:
                    self._stopping.wait(AGAIN[min(failures, len(AGAIN)) - 1])

    def _say(self, hints: Hints) -> bool:
        message = {"due": list(hints.due), "finished": list(hints.finished), "lost": list(hints.lost)}
        flags = {"recorded": hints.recorded, "anything": hints.anything, "source": self._source}
        try:
            (answer,) = self._links.talk(Questions((self._dialect.publish, self._channel, encode(message | flags))))
        except Exception as error:  # whatever is on the other end: it is said when it can be
            self._waiting.add(hints)
            log.debug("a wake-up waits: %s", error)
            return False
        if isinstance(answer, Refused):
            # Asking again would not help, and everybody else polls or is told by others.
            log.warning("wake-ups of %s cannot be sent: %s", self._name, answer)
        return True
