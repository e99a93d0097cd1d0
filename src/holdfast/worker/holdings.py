"""What a worker holds: one entry per claim, read by the renewer's thread and written by the loop's."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from holdfast.job import Claim, Record
from holdfast.jobs import AnyJobType
from holdfast.worker.signal import AbortReason, Signal

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)


def ticks() -> float:
    """Seconds that go on while the machine sleeps, where the system can tell: a lease does not wait for it."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


@dataclass(slots=True)
class Holding:
    """A claim that this worker holds, and how to tell its attempt that it no longer does."""

    record: Record
    lease: float
    """Seconds."""
    type: AnyJobType
    signal: Signal = field(default_factory=Signal)
    renewed: float = field(default_factory=ticks)
    """When the last renewal that succeeded was sent."""
    ended: bool = False
    """The handler is done: what is left is to write its outcome."""

    @property
    def claim(self) -> Claim:
        return self.record.claim

    def abort(self, reason: AbortReason) -> bool:
        """Abort the attempt, unless its handler is done already."""
        return not self.ended and self.signal.fire(reason)


class Holdings:
    """Every claim of a worker. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, Holding] = {}

    def add(self, holding: Holding) -> None:
        with self._lock:
            self._by_id[holding.record.id] = holding

    def remove(self, holding: Holding) -> None:
        with self._lock:
            # After a lost lease the same worker may hold the job anew, under another token.
            if self._by_id.get(holding.record.id) is holding:
                del self._by_id[holding.record.id]

    def get(self, job_id: str) -> Holding | None:
        return self._by_id.get(job_id)

    def all(self) -> list[Holding]:
        with self._lock:
            return list(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)
