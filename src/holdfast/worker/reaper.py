"""Returns jobs whose leases have expired to pending."""

from __future__ import annotations

from holdfast.core.failure import read_error
from holdfast.core.record import Status
from holdfast.engine.observers import Observers
from holdfast.engine.operations import Reap
from holdfast.engine.store import Store
from holdfast.worker.held_claims import HeldClaims, lease_clock

REAP_EVERY = 1.0
REAP_BATCH = 100


class LeaseReaper:
    """Reaps jobs of the worker's types. Every worker has a reaper; concurrent reapers never reap an attempt twice.

    Claims that this worker holds itself are excluded, even if their leases have expired.
    """

    def __init__(
        self, store: Store, held_claims: HeldClaims, observers: Observers, worker_id: str, *, types: tuple[str, ...]
    ) -> None:
        self._store = store
        self._held_claims = held_claims
        self._observers = observers
        self._worker_id = worker_id
        self._types = types
        self._reaped = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to reap again."""
        return lease_clock() >= self._reaped + REAP_EVERY

    @property
    def retry_delay(self) -> float:
        """Seconds to sleep while a due job cannot be claimed because its expired lease is not reaped yet."""
        return REAP_EVERY / 2

    async def reap(self) -> bool:
        """Reap expired leases of other workers. Returns whether there were any."""
        self._reaped = lease_clock()
        held = tuple(each.claim for each in self._held_claims.all() if not each.given_up)
        reaped = await self._store.perform(Reap(self._types, held, REAP_BATCH))
        for each in reaped:
            detail = f"from worker {each.worker}"
            self._observers.emit("reaped", each.record, worker=self._worker_id, detail=detail)
            if each.record.status is Status.FAILED:
                self._observers.emit("failed", each.record, worker=self._worker_id, error=read_error(each.record.error))
        return bool(reaped)
