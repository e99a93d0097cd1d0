"""Staggers the claims of idle workers after a wake-up: otherwise one start would cause a claim of every worker."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Final
from zlib import crc32

from holdfast.core.worker_record import WorkerRecord

SMALL_FLEET: Final = 4
"""Up to this number of workers of a type, all claim at once."""
SOON: Final = 0.005
SOON_WORKERS: Final = 4
"""This many workers check after `SOON` seconds, in case the first one is busy or dead."""
LATER: Final = 0.02
LATER_WORKERS: Final = 16
STEP: Final = 0.004
"""The remaining workers check one after another, this many seconds apart. In a fleet of more than about 245 workers the
interval is shorter, so that the last one checks within `LONGEST`."""
CLAIMS: Final = 4
"""On a slow store, the second worker checks after this many claim durations. The other delays grow in proportion."""
LONGEST: Final = 1.0
"""Seconds. No check is later than this: all workers but one may be busy or dead."""


class Stagger:
    """The delay after which this worker checks for a new job: by its rank among the live workers of the type.

    All workers calculate the same order from the list of live workers, so that no message is needed. The order changes
    every second. If the lists or the clocks of workers differ, a start causes a few claims more, or the job waits for
    the second worker.
    """

    def __init__(self, worker_id: str) -> None:
        self._id = worker_id
        self._own = _hash(worker_id)
        self._workers: dict[str, list[int]] = {}
        """For each type with many live workers: the hashes of the ids of these workers."""
        self._claim_seconds = 0.0
        self._second = 0
        self._delays: dict[str, float] = {}
        """The delay of each type in the current second."""

    def learn(self, live: Iterable[WorkerRecord]) -> None:
        """Remember the live workers of each type of this worker."""
        workers: dict[str, list[str]] = {}
        for worker in live:
            for type in () if worker.draining else worker.types:
                workers.setdefault(type, []).append(worker.id)
        self._workers = {
            type: [_hash(each) for each in ids]
            for type, ids in workers.items()
            if len(ids) > SMALL_FLEET and self._id in ids
        }
        self._delays = {}

    def claimed(self, seconds: float) -> None:
        """Record the duration of a claim. A longer claim replaces the estimate; shorter ones lower it slowly."""
        self._claim_seconds = max(seconds, self._claim_seconds + (seconds - self._claim_seconds) / 8)

    def delay(self, types: Collection[str]) -> float:
        """Seconds until this worker should check for due jobs of these types. 0: claim now."""
        if not self._workers:
            return 0.0
        second = int(time.time())
        if second != self._second:
            self._second, self._delays = second, {}
        slower = max(1.0, CLAIMS * self._claim_seconds / SOON)
        delay = min((self._delay(type, second) for type in types), default=0.0)
        return min(slower * delay, LONGEST)

    def _delay(self, type: str, second: int) -> float:
        if (known := self._delays.get(type)) is None:
            known = self._delays[type] = self._calculate(type, second)
        return known

    def _calculate(self, type: str, second: int) -> float:
        hashes = self._workers.get(type)
        if hashes is None:
            return 0.0
        # Each mask results in another order. Two workers with the same hash have the same rank.
        mask = _hash(f"{type}:{second}")
        own = self._own ^ mask
        rank = sum(each ^ mask < own for each in hashes)
        if rank == 0:
            return 0.0
        if rank <= SOON_WORKERS:
            return SOON
        if rank <= SOON_WORKERS + LATER_WORKERS:
            return LATER
        step = min(STEP, (LONGEST - LATER) / len(hashes))
        return LATER + step * (rank - SOON_WORKERS - LATER_WORKERS)


def _hash(text: str) -> int:
    return crc32(text.encode())
