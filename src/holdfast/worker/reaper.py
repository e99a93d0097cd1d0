"""Takes back jobs from workers that stopped renewing them."""

from __future__ import annotations

from holdfast.core.failure import read_error
from holdfast.core.record import Status
from holdfast.engine.observers import Observers
from holdfast.engine.operations import Reap
from holdfast.engine.store import Store
from holdfast.worker.held_claims import Holdings, ticks

REAP_EVERY = 1.0
REAP_BATCH = 100


class Reaper:
    """Every worker reaps the types that it runs; however many do, a lost job is taken back once.

    A claim that this worker holds itself is left alone, whatever became of its lease.
    """

    def __init__(
        self, store: Store, holdings: Holdings, observers: Observers, worker_id: str, *, types: tuple[str, ...]
    ) -> None:
        self._store = store
        self._holdings = holdings
        self._observers = observers
        self._worker_id = worker_id
        self._types = types
        self._reaped = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to look again."""
        return ticks() >= self._reaped + REAP_EVERY

    @property
    def nap(self) -> float:
        """Seconds to sleep where a job is due that nobody can claim, since its lease has yet to be taken back."""
        return REAP_EVERY / 2

    async def reap(self) -> bool:
        """Take back what other workers lost; tells whether there was any."""
        self._reaped = ticks()
        held = tuple(holding.claim for holding in self._holdings.all() if not holding.given_up)
        reaped = await self._store.perform(Reap(self._types, held, REAP_BATCH))
        for each in reaped:
            detail = f"from worker {each.worker}"
            self._observers.emit("reaped", each.record, worker=self._worker_id, detail=detail)
            if each.record.status is Status.FAILED:
                self._observers.emit("failed", each.record, worker=self._worker_id, error=read_error(each.record.error))
        return bool(reaped)
