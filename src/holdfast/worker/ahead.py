"""Jobs that a worker has claimed ahead: their handlers begin as soon as slots become free."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from holdfast.worker.held_claims import HeldClaim, lease_clock

OVERDUE = 0.1
"""Seconds after which a job that was claimed ahead and has not begun is released."""


class AheadQueue:
    """The claims whose handlers have not begun, in the order of claims: by priority, due time and creation.

    The event loop begins them; any thread may release them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.waiting: deque[HeldClaim] = deque()
        """Code outside this class may only read it."""
        self._measured: tuple[float, int] | None = None
        """When the measurement of the interval began, and how many jobs waited then."""
        self._begun = 0
        """How many jobs have begun since the measurement began."""
        self.interval: float | None = None
        """Seconds from the start of one of these jobs to the start of the next; None if it is not known."""
        self.stalled = False
        """True if jobs were overdue and no attempt has ended since."""

    def put(self, held_claims: Sequence[HeldClaim]) -> None:
        """Add claims, which are sorted. All waiting claims begin in the same order, whether they are new or not."""
        with self._lock:
            in_order = not self.waiting or _rank(self.waiting[-1]) <= _rank(held_claims[0])
            self.waiting.extend(held_claims)
            if not in_order:
                self.waiting = deque(sorted(self.waiting, key=_rank))
            if self._measured is None:
                self._measured, self._begun = (lease_clock(), len(self.waiting)), 0

    def take(self, number: int) -> list[HeldClaim]:
        """Take the next jobs to begin, at most this many."""
        with self._lock:
            taken = [self.waiting.popleft() for _ in range(min(number, len(self.waiting)))]
            self._begun += len(taken)
            if self._measured is not None and self._begun >= self._measured[1]:
                seconds = (lease_clock() - self._measured[0]) / self._begun
                self.interval = seconds if self.interval is None else (self.interval + seconds) / 2
                self._measured = None
            return taken

    def take_overdue(self) -> list[HeldClaim]:
        """Take all jobs if one of them has waited too long: the running handlers are slower than expected."""
        oldest = lease_clock() - OVERDUE
        with self._lock:
            if not any(each.begun < oldest for each in self.waiting):
                return []
            self.stalled = True
            return self._take_all()

    def take_all(self) -> list[HeldClaim]:
        with self._lock:
            return self._take_all()

    def _take_all(self) -> list[HeldClaim]:
        taken = list(self.waiting)
        self.waiting.clear()
        self._measured = self.interval = None
        return taken


def _rank(held_claim: HeldClaim) -> tuple[int, int, int]:
    record = held_claim.record
    return (-record.priority, record.scheduled_at, record.seq)
