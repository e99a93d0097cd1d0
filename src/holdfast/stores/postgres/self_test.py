"""Whether a listener hears itself: a pooler may swallow LISTEN without a word."""

from __future__ import annotations

import os
import time

EVERY = 60.0
PATIENCE = 5.0


class SelfTest:
    """A word that is said now and then and has to come back. Belongs to the thread that listens."""

    def __init__(self) -> None:
        self._next = 0.0
        self._said: str | None = None
        self._deadline = 0.0

    def due(self) -> bool:
        """Whether it is time to say one."""
        return self._said is None and time.monotonic() >= self._next

    def begin(self) -> str:
        """The word to say."""
        self._said = os.urandom(8).hex()
        self._deadline = time.monotonic() + PATIENCE
        return self._said

    def heard(self, word: str) -> bool:
        """Take note of a word; whoever's it is, we can hear."""
        if word == self._said:
            self._end()
        return True

    def failed(self) -> bool:
        """Whether the word has not come back in time. Tells it once, and then waits for the next test."""
        if self._said is None or time.monotonic() < self._deadline:
            return False
        self._end()
        return True

    def wait(self) -> float:
        """Seconds until there is something to do."""
        return max(0.0, (self._next if self._said is None else self._deadline) - time.monotonic())

    def _end(self) -> None:
        self._said = None
        self._next = time.monotonic() + EVERY
