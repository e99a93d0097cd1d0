"""Who held a lock that everybody needs, and for how long: one that stands still with it holds up all others."""

from __future__ import annotations

from collections.abc import Callable

from torture.history import History, real_now

LONG = 500_000
"""Microseconds for which a lock must be held to be noted; looks are much closer to each other."""


class LockWatch:
    """Looks who holds the lock. Only together with its signs of life does that tell whether the holder stood still."""

    def __init__(
        self, holder: Callable[[], int | None], name_of: Callable[[int | None], str | None], history: History
    ) -> None:
        self._holder = holder
        self._name_of = name_of
        self._history = history
        self._held_by: int | None = None
        self._since = self._seen = 0

    def look(self) -> None:
        """Look now. One that is seen with it at every look has held it all the time, as far as anybody knows."""
        holder, now = self._holder(), real_now()
        if holder != self._held_by:
            self._note()
            self._held_by, self._since = holder, now
        self._seen = now

    def _note(self) -> None:
        name = self._name_of(self._held_by)
        if name is not None and self._seen - self._since >= LONG:
            self._history.note("held", by=name, begun=self._since, ends=self._seen)
