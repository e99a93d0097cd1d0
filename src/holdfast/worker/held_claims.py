"""The claims of a worker, one entry each. The event loop writes them; the renewer's thread reads them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import msgspec

from holdfast.core.record import Claim, Record
from holdfast.core.steps import StepRow
from holdfast.registry.jobs import AnyJobType
from holdfast.worker.abort_signal import AbortReason, Signal
from holdfast.worker.run_options import RunOptions

StepsRead: TypeAlias = "asyncio.Future[list[StepRow]] | tuple[StepRow, ...]"
"""Stored steps that are being read, or that are known."""

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)


# Not a function of Python: it is read several times for each job.
lease_clock: Callable[[], float] = time.monotonic if _BOOTTIME is None else partial(time.clock_gettime, _BOOTTIME)
"""Seconds of a monotonic clock that includes suspend, if the system has one: leases expire during suspend too."""


# gc=False, as for the signal in it: with hundreds of running attempts, these would be a quarter of the objects that
# the garbage collector scans. An entry whose handler has ended is not part of a reference cycle.
class HeldClaim(msgspec.Struct, eq=False, gc=False):
    """A claim of this worker, with the task that runs its handler."""

    record: Record
    options: RunOptions
    begun: float
    """When the claim arrived."""
    renewed: float
    """When the claim, or its last successful renewal, was sent: the lease may have begun then."""
    signal: Signal = msgspec.field(default_factory=Signal)
    task: asyncio.Task[None] | None = None
    """Set while the handler runs."""
    ended: bool = False
    """The handler has ended; its settlement may not be written yet."""
    ahead: float = 0.0
    """Seconds from the claim until the attempt began, if the job was claimed ahead."""
    steps: StepsRead | None = None
    """Its stored steps, if they are known or read before the attempt begins."""

    @property
    def claim(self) -> Claim:
        return self.record.claim

    @property
    def type(self) -> AnyJobType:
        return self.options.type

    @property
    def lease(self) -> float:
        return self.options.lease

    @property
    def expired(self) -> bool:
        """Whether the lease was not renewed for so long that another worker may have the job."""
        return lease_clock() >= self.renewed + self.options.abort_after

    @property
    def given_up(self) -> bool:
        """Aborted while its handler still runs: its lease is not renewed any more."""
        return self.signal.aborted and not self.ended

    def enter(self, task: asyncio.Task[None]) -> bool:
        """Record the task that runs the handler. Returns False if the attempt was aborted before it began."""
        self.task = task
        return not self.signal.aborted

    def leave(self) -> None:
        """Record that the handler has ended: its task must not be cancelled any more."""
        self.ended = True
        self.task = None
        self.signal.forget()

    def abort(self, reason: AbortReason) -> bool:
        """Abort the attempt, from any thread, unless its handler has ended. Returns whether this call aborted it."""
        if self.ended or not self.signal.fire(reason):
            return False
        if (task := self.task) is not None:
            try:
                task.get_loop().call_soon_threadsafe(self._interrupt)
            except RuntimeError:  # the event loop is closed, so the attempt has ended
                return False
        return True

    def _interrupt(self) -> None:
        # Runs on the event loop, where handlers end, so that a task is never cancelled after its handler.
        if not self.ended and self.task is not None:
            self.task.cancel()


class HeldClaims:
    """All claims of a worker. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_id: dict[str, HeldClaim] = {}

    def add(self, held_claims: Sequence[HeldClaim]) -> None:
        """Add claims. An older claim of the same job was lost unnoticed: abort it."""
        added = {each.record.id: each for each in held_claims}
        with self._lock:
            older = [self._by_id[job_id] for job_id in self._by_id.keys() & added.keys()]
            self._by_id.update(added)
        for each in older:
            each.abort("taken_by_another_worker")

    def remove(self, held_claim: HeldClaim) -> None:
        with self._lock:
            # After a lost lease the same worker may have claimed the job again, with another token.
            if self._by_id.get(job_id := held_claim.record.id) is held_claim:
                del self._by_id[job_id]

    def get(self, job_id: str) -> HeldClaim | None:
        return self._by_id.get(job_id)

    def all(self) -> list[HeldClaim]:
        with self._lock:
            return list(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)
