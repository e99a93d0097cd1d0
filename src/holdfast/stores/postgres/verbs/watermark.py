"""How far claiming has come, so that a claim need not pass over everything that was claimed before.

Rows that were claimed leave dead entries at the front of the index of due jobs. Vacuum removes them, but not while
some session holds an old snapshot: then each claim walks over all that was claimed since. So a claim that takes long
while there are many dead rows leaves a mark where it ended, and for a while claims begin there. What became due before
the mark (given back, or committed late) is found by the next full scan: one comes every second, or when twenty times
the cost of the last has passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.core.clock import SECOND, Micros
from holdfast.core.record import Record

SLOW: Micros = 2_000
DEAD = 10_000
"""A claim that takes the server longer than this while there are more dead rows than this walked over them.
Autovacuum begins at half as many, so somebody keeps it from removing them."""


class Mark(NamedTuple):
    """Where a scan of one type and priority begins."""

    type: str
    priority: int
    scheduled_at: Micros
    seq: int


class Watermarks:
    """The marks of one store handle. Shared by threads and tasks; a mark that is lost costs time, never a job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: dict[tuple[str, int], Mark] = {}
        self._full_scan_at = 0.0
        self._known: frozenset[str] = frozenset()

    def of(self, types: Iterable[str]) -> list[Mark]:
        """Where to begin, of each type and priority; empty when it is time to look at everything."""
        if not self._marks or time.monotonic() >= self._full_scan_at or not self._known.issuperset(types):
            return []
        with self._lock:
            wanted = set(types)
            return [mark for mark in self._marks.values() if mark.type in wanted]

    def scanned(self, types: Iterable[str], claimed: Iterable[Record], spent: Micros, dead: int) -> None:
        """A full scan of these types claimed these jobs and took the server this long, over so many dead rows."""
        if spent < SLOW or dead < DEAD:
            if self._marks:
                self.forget()
            return
        with self._lock:
            self._marks.clear()
            self._known = frozenset(types)
            self._full_scan_at = time.monotonic() + max(1.0, 20 * spent / SECOND)
        self.advance(claimed)

    def advance(self, claimed: Iterable[Record]) -> None:
        """These were claimed: the next scan begins at the first of them, since some may come back."""
        with self._lock:
            for job in sorted(claimed, key=lambda job: (job.scheduled_at, job.seq), reverse=True):
                self._marks[job.type, job.priority] = Mark(job.type, job.priority, job.scheduled_at, job.seq)

    def forget(self) -> None:
        """Something older may be due again: the next claim looks at everything."""
        with self._lock:
            self._marks.clear()
