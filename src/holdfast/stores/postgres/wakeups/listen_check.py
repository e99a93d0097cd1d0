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
        self._word: str | None = None
        self._waits = False
        self._deadline = 0.0

    def due(self) -> bool:
        """Whether it is time to say one."""
        return not self._waits and time.monotonic() >= self._next

    def begin(self) -> str:
        """The word to say."""
        self._word = os.urandom(8).hex()
        self._waits = True
        self._deadline = time.monotonic() + PATIENCE
        return self._word

    def received(self, word: str) -> bool:
        """Take note of a word; whether it is the one that was said last, late or in time.

        That of another process proves nothing: behind a pooler, what others listen for may come by for a moment.
        """
        if word != self._word:
            return False
        self._end()
        return True

    def failed(self) -> bool:
        """Whether the word has not come back in time. Tells it once, and then waits for the next test."""
        if not self._waits or time.monotonic() < self._deadline:
            return False
        self._end()
        return True

    def wait(self) -> float:
        """Seconds until there is something to do."""
        return max(0.0, (self._deadline if self._waits else self._next) - time.monotonic())

    def _end(self) -> None:
        self._waits = False
        self._next = time.monotonic() + EVERY
