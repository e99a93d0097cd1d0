"""Checks that LISTEN works: a pooler in transaction mode ignores it without an error."""

from __future__ import annotations

import os
import time

EVERY = 60.0
TIMEOUT = 5.0


class ListenCheck:
    """Sends a test notification from time to time, which must come back. Used by the listening thread only."""

    def __init__(self) -> None:
        self._next = 0.0
        self._text: str | None = None
        self._waits = False
        self._deadline = 0.0

    def due(self) -> bool:
        """Whether it is time to send a test notification."""
        return not self._waits and time.monotonic() >= self._next

    def begin(self) -> str:
        """The text of a new test notification."""
        self._text = os.urandom(8).hex()
        self._waits = True
        self._deadline = time.monotonic() + TIMEOUT
        return self._text

    def received(self, text: str) -> bool:
        """Handle a received test; True if it is the last one that was sent here, even after the timeout.

        The test of another process proves nothing: behind a pooler, notifications for other sessions may arrive.
        """
        if text != self._text:
            return False
        self._end()
        return True

    def failed(self) -> bool:
        """True once if the test notification has not come back in time. Then the next test is scheduled."""
        if not self._waits or time.monotonic() < self._deadline:
            return False
        self._end()
        return True

    def wait(self) -> float:
        """Seconds until the next action."""
        return max(0.0, (self._deadline if self._waits else self._next) - time.monotonic())

    def _end(self) -> None:
        self._waits = False
        self._next = time.monotonic() + EVERY
