"""Which process held the write lock, and for how long: a frozen process that holds it blocks all others."""

from __future__ import annotations

from collections.abc import Callable

from torture.history import History, real_now

LONG = 500_000
"""Microseconds for which the lock must be held to be recorded. The checks are much more frequent."""


class LockWatch:
    """Records long holders of the lock. The beats of the holder show whether it was frozen."""

    def __init__(
        self, holder: Callable[[], int | None], name_of: Callable[[int | None], str | None], history: History
    ) -> None:
        self._holder = holder
        self._name_of = name_of
        self._history = history
        self._held_by: int | None = None
        self._since = self._seen = 0

    def look(self) -> None:
        """Check the holder now. A process that holds the lock at consecutive checks counts as holding it in between."""
        holder, now = self._holder(), real_now()
        if holder != self._held_by:
            self._note()
            self._held_by, self._since = holder, now
        self._seen = now

    def _note(self) -> None:
        name = self._name_of(self._held_by)
        if name is not None and self._seen - self._since >= LONG:
            self._history.note("held", by=name, begun=self._since, ends=self._seen)
