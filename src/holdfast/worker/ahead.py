"""Jobs that a worker has claimed ahead: their handlers begin as soon as slots become free."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from holdfast.worker.held_claims import HeldClaim, lease_clock

OVERDUE = 0.1
"""Seconds after which a job that was claimed ahead and has not begun is released."""


class AheadQueue:
    """The claims whose handlers have not begun, best first. The event loop begins them; any thread may release them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.waiting: deque[HeldClaim] = deque()
        """Read only, outside of this class."""
        self._last: tuple[HeldClaim, int] | None = None
        """The last job of a claim, and its place in the queue when it arrived."""
        self.interval: float | None = None
        """Seconds from the start of one of these jobs to the start of the next; None if it is not known."""
        self.stalled = False
        """Jobs were overdue, and no attempt has ended since."""

    def put(self, held_claims: Sequence[HeldClaim]) -> None:
        """Add claims, best first. They begin before those that wait already if they are better."""
        with self._lock:
            in_order = not self.waiting or _rank(self.waiting[-1]) <= _rank(held_claims[0])
            self.waiting.extend(held_claims)
            if not in_order:
                self.waiting = deque(sorted(self.waiting, key=_rank))
            if self._last is None:
                self._last = (self.waiting[-1], len(self.waiting))

    def next(self) -> HeldClaim | None:
        """Take the next job to begin."""
        with self._lock:
            if not self.waiting:
                return None
            held_claim = self.waiting.popleft()
            if self._last is not None and held_claim is self._last[0]:
                seconds = (lease_clock() - held_claim.begun) / self._last[1]
                self.interval = seconds if self.interval is None else (self.interval + seconds) / 2
                self._last = None
            return held_claim

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
        self._last = self.interval = None
        return taken


def _rank(held_claim: HeldClaim) -> tuple[int, int, int]:
    record = held_claim.record
    return (-record.priority, record.scheduled_at, record.seq)
