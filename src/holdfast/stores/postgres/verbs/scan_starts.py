"""Where the next claim starts to scan the index of due jobs.

Claimed rows leave dead entries at the front of the index of due jobs. Vacuum removes them, but not while a session
holds an old snapshot. Then each claim scans all entries of jobs that were claimed since that snapshot. So if a claim is
slow and there are many dead rows, the store keeps the position where the claim ended, and the next claims start to scan
there. If the claim returned no job of a type, the type gets a start for the default priority, so that its new jobs do
not wait. The next full scan finds jobs that become due before the start (returned to pending, or committed late), and
jobs of a new priority. A full scan runs every second, or after twenty times the duration of the last one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.core.clock import SECOND, Micros
from holdfast.core.record import Record

SLOW: Micros = 2_000
DEAD = 10_000
"""If a claim takes longer than SLOW and there are more dead rows than DEAD, it scanned dead entries. Autovacuum starts
at half this number, so an old snapshot keeps it from removing the dead rows."""

LONGEST_PAUSE = 4
"""How many passes at most use the general statements after `claim_single_lanes` claimed nothing, that of the same claim
included: one, and twice as many after each further failure."""

LATE: Micros = SECOND
"""For a type without claimed jobs, the start is this long before the due time of the last claimed job: a job that was
due earlier may have been committed after the scan."""


class ScanStart(NamedTuple):
    """Where the scan of one type and priority starts."""

    type: str
    priority: int
    scheduled_at: Micros
    seq: int


class ScanStarts:
    """The starts of one store object, shared by threads and tasks. A lost start costs time, but loses no job."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starts: dict[tuple[str, int], ScanStart] = {}
        self._full_scan_at = 0.0
        self._known: frozenset[str] = frozenset()
        self.lanes_next = False
        """Whether a job with lanes is next, at equal priority."""
        self.took_lanes: list[str] | None = None
        """The types of the last claim, if it took jobs with lanes: the next claim of these types begins with tracks."""
        self._until_single_lanes = 1
        """After how many claims by the general statements to try `claim_single_lanes`; 0: now."""
        self._pause = 1

    def of(self, types: Iterable[str]) -> list[ScanStart]:
        """Where to start for each type and priority; empty if a full scan is due."""
        if not self._starts or time.monotonic() >= self._full_scan_at or not self._known.issuperset(types):
            return []
        with self._lock:
            wanted = set(types)
            return [start for start in self._starts.values() if start.type in wanted]

    def scanned(self, types: Iterable[str], claimed: Sequence[Record], spent: Micros, dead: int) -> None:
        """Record a full scan of these types, and the jobs that it claimed, best first. `spent` is its duration.

        `dead` is the number of dead rows.
        """
        if spent < SLOW or dead < DEAD:
            if self._starts:
                self.forget()
            return
        with self._lock:
            self._starts.clear()
            self._known = frozenset(types)
            self._full_scan_at = time.monotonic() + max(1.0, 20 * spent / SECOND)
            if claimed:
                # No job of another type is left that is better than the last claimed job.
                last = claimed[-1]
                begin = last.scheduled_at - LATE if last.priority <= 0 else 0
                idle = self._known - {job.type for job in claimed}
                self._starts |= {(type, 0): ScanStart(type, 0, begin, 0) for type in idle}
        self.advance(claimed)

    def advance(self, claimed: Iterable[Record]) -> None:
        """Record claimed jobs. The next scan starts at the first of them, because some may return to pending."""
        with self._lock:
            for job in sorted(claimed, key=lambda job: (job.scheduled_at, job.seq), reverse=True):
                self._starts[job.type, job.priority] = ScanStart(job.type, job.priority, job.scheduled_at, job.seq)

    def forget(self) -> None:
        """Make the next claim a full scan: an older job may be due again."""
        with self._lock:
            self._starts.clear()

    def tries_single_lanes(self) -> bool:
        """Whether the next claim tries `claim_single_lanes`."""
        return not self._until_single_lanes

    def single_lanes_failed(self) -> None:
        """Record that `claim_single_lanes` claimed nothing: the next passes use the general statements at once."""
        self._until_single_lanes, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)

    def single_lanes_claimed(self) -> None:
        """Record that `claim_single_lanes` claimed jobs."""
        self._pause = 1

    def note_single_lanes(self, alike: bool) -> None:
        """Record a claim by the general statements. `alike`: `claim_single_lanes` could have made it."""
        self._until_single_lanes = max(self._until_single_lanes - 1, 0 if alike else 1)
