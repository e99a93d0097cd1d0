"""What a worker holds: one entry per claim, read by the renewer's thread and written by the loop's."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import msgspec

from holdfast.core.record import Claim, Record
from holdfast.registry.jobs import AnyJobType
from holdfast.worker.abort_signal import AbortReason, Signal
from holdfast.worker.run_options import RunTerms

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)


def ticks() -> float:
    """Seconds that go on while the machine sleeps, where the system can tell: a lease does not wait for it."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


# Like the signal in it, unknown to the garbage collector: of what it looks through again and again while hundreds of
# attempts are under way, these would be a quarter. A handler that has ended leaves nothing that leads back here.
class Holding(msgspec.Struct, eq=False, gc=False):
    """A claim that this worker holds, with the task that runs its handler."""

    record: Record
    terms: RunTerms
    begun: float
    renewed: float
    """When the claim, or the last renewal that succeeded, was sent: the lease may count from then."""
    signal: Signal = msgspec.field(default_factory=Signal)
    task: asyncio.Task[None] | None = None
    """While the handler runs."""
    ended: bool = False
    """The handler is done: what is left is to write its outcome."""

    @property
    def claim(self) -> Claim:
        return self.record.claim

    @property
    def type(self) -> AnyJobType:
        return self.terms.type

    @property
    def lease(self) -> float:
        return self.terms.lease

    @property
    def given_up(self) -> bool:
        """Aborted, though its handler still runs: its lease is no longer defended."""
        return self.signal.aborted and not self.ended

    def enter(self, task: asyncio.Task[None]) -> bool:
        """The handler runs in this task from now on. Tells whether it should: it may have been aborted before."""
        self.task = task
        return not self.signal.aborted

    def leave(self) -> None:
        """The handler is done, whatever came of it: nobody interrupts its task any more."""
        self.ended = True
        self.task = None
        self.signal.forget()

    def abort(self, reason: AbortReason) -> bool:
        """Abort the attempt, from any thread, unless its handler is done already. Tells whether this did it."""
        if self.ended or not self.signal.fire(reason):
            return False
        if (task := self.task) is not None:
            try:
                task.get_loop().call_soon_threadsafe(self._interrupt)
            except RuntimeError:  # the loop is closed, and the attempt ended with it
                return False
        return True

    def _interrupt(self) -> None:
        # On the loop, where handlers end: one that is done is not cancelled any more.
        if not self.ended and self.task is not None:
            self.task.cancel()


class Holdings:
    """Every claim of a worker. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, Holding] = {}

    def add(self, holdings: Sequence[Holding]) -> None:
        """Hold claims. An older one of the same job, lost without our noticing, is aborted."""
        with self._lock:
            older = [self._by_id.get(holding.record.id) for holding in holdings]
            self._by_id.update((holding.record.id, holding) for holding in holdings)
        for each in older:
            if each is not None:
                each.abort("taken_by_another_worker")

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
