"""When to look again after a file changed.

A change of the file is seen before its commit is: with `synchronous=FULL` the write to the write-ahead log
comes first, then an fsync, and only then can others see the commit, without a further event. So one change
asks for several looks.
"""

from __future__ import annotations

DELAYS = (0.001, 0.002, 0.005, 0.012, 0.03, 0.1, 0.25, 0.6)
"""Pauses between the looks of one burst, in seconds; they add up to one second."""

GAP = 0.005
"""While changes keep coming, the least time between two looks."""


class Burst:
    """The looks still to come.

    A further change begins the burst anew, but never brings two looks closer than `GAP`. Times are seconds on
    any one monotonic clock.
    """

    def __init__(self) -> None:
        self.due: float | None = None
        self._step = 0
        self._looked = float("-inf")

    def changed(self, now: float) -> None:
        """A file changed: look soon, and then a few more times."""
        soon = now + DELAYS[0]
        # A look that was due earlier stays: pushed back by every change it would never come.
        self.due = max(soon if self.due is None else min(self.due, soon), self._looked + GAP)
        self._step = 0

    def looked(self, now: float) -> None:
        """The look that was due has been made.

        What it found makes no difference: it may have been an older commit.
        """
        self._looked = now
        self._step += 1
        self.due = now + DELAYS[self._step] if self._step < len(DELAYS) else None
