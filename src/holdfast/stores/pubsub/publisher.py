"""Publishes wake-ups from a thread, so that a commit never waits for the server."""

from __future__ import annotations

import logging
import threading

from holdfast.engine.hint_buffer import HintBuffer, SendPause
from holdfast.engine.wake_flag import ThreadFlag
from holdfast.engine.wakeups import Hints
from holdfast.stores.pubsub.channel import Channel, Refused

RETRY_DELAYS = (0.1, 0.5, 1.0, 2.0)
"""Seconds before each retry of a failed publish; the last value for all further retries."""

STOP_TIMEOUT = 2.0


class Publisher(threading.Thread):
    """Publishes the gathered hints. After a failure it keeps them, adds newer ones, and retries."""

    def __init__(self, channel: Channel, waiting: HintBuffer) -> None:
        super().__init__(name=f"holdfast-{channel.kind}-hints", daemon=True)
        self._channel = channel
        self._waiting = waiting
        self._changed = ThreadFlag()
        self._stopping = threading.Event()
        self._log = logging.getLogger(f"holdfast.{channel.kind}.wakeups")

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
                self._channel.stop_publishing()
                return
            if self._waiting:
                self._changed.set()
                if failures:
                    self._stopping.wait(RETRY_DELAYS[min(failures, len(RETRY_DELAYS)) - 1])

    def _publish(self, hints: Hints) -> bool:
        try:
            self._channel.publish(hints)
        except Refused as refusal:
            # Listeners poll, or get hints from other processes.
            self._log.warning("wake-ups of %s cannot be sent: %s", self._channel.shown, refusal)
        except Exception as error:  # any error: keep the hints and retry
            self._waiting.add(hints)
            self._log.debug("a wake-up is sent again later: %s", error)
            return False
        return True
