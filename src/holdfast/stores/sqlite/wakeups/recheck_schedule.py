"""When to check for a commit after a file has changed.

The change of the file comes before the commit is visible. With `synchronous=FULL` SQLite writes to the write-ahead log,
then calls fsync, and only then can other connections see the commit. No further file event follows. Therefore one
change causes several checks.
"""

from __future__ import annotations

DELAYS = (0.001, 0.002, 0.005, 0.012, 0.03, 0.1, 0.25, 0.6)
"""Pauses between the checks after one change, in seconds. Their sum is one second."""

GAP = 0.005
"""Seconds between two checks, at least, while changes continue."""


class RecheckSchedule:
    """The time of the next check.

    A further change restarts the sequence, but two checks are never closer than `GAP`. Times are seconds of a
    monotonic clock.
    """

    def __init__(self) -> None:
        self.due: float | None = None
        self._checks = 0
        self._checked = float("-inf")

    def changed(self, now: float) -> None:
        """A file changed: check soon, and then several more times."""
        soon = now + DELAYS[0]
        # An earlier due time stays. If every change postponed it, the check would never come.
        self.due = max(soon if self.due is None else min(self.due, soon), self._checked + GAP)
        self._checks = 0

    def checked(self, now: float) -> None:
        """The due check was made. Its result does not matter: the commit that it found may be an older one."""
        self._checked = now
        self._checks += 1
        self.due = now + DELAYS[self._checks] if self._checks < len(DELAYS) else None
