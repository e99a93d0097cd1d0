"""Keeps leases alive, from a thread of its own: a handler that blocks the event loop does not lose its job."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.core.clock import duration
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import GetJobs, LostReason, Renew
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError
from holdfast.worker.held_claims import Holding, Holdings, ticks
from holdfast.worker.losses import lost

LOOK_EVERY = 0.25
"""Seconds between two looks whether claims still hold, however many wake-ups there are."""


class Renewer:
    """Renews all leases that are due in one step, and tells attempts whose claim is lost.

    A renewal has three answers. Renewed: go on. Lost: the attempt is aborted at once, with the reason. Unknown, since
    the store did not answer: try again, while the fencer watches the time.
    """

    def __init__(
        self,
        store: Store,
        holdings: Holdings,
        observers: Observers,
        worker_id: str,
        *,
        shortest: float,
        interval: float,
    ) -> None:
        self._store = store
        self._holdings = holdings
        self._observers = observers
        self._worker_id = worker_id
        self._shortest = shortest
        self._interval = interval
        """The shortest of the types."""
        self._wake = threading.Event()
        self._stopped = False
        self._suspicious = False
        self._looked = 0.0
        self._thread = threading.Thread(target=self._run, name=f"holdfast-renewer-{worker_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """End the thread; one that hangs in the store is left behind, and keeps nobody."""
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout)

    def receive(self, hints: Hints) -> None:
        """A wake-up that may concern a claim of ours."""
        if hints.anything or any(self._holdings.get(job_id) for job_id in hints.lost):
            self._suspicious = True
            self._wake.set()

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._pause())
            self._wake.clear()
            if self._suspicious and ticks() >= self._looked + LOOK_EVERY:
                self._suspicious = False
                self._looked = ticks()
                self._attempt(self._look)
            self._attempt(self._renew)

    def _pause(self) -> float:
        """Until something is to be done. Claims may come meanwhile, so never longer than the shortest interval."""
        longest = self._interval
        now = ticks()
        dues = [
            holding.renewed + holding.terms.renew_interval for holding in self._holdings.all() if not holding.given_up
        ]
        if dues:
            left = min(dues) - now
            # Overdue means that the last try failed: not again at once.
            longest = min(longest, left if left > 0 else self._shortest / 20)
        return min(longest, max(self._looked + LOOK_EVERY - now, 0)) if self._suspicious else longest

    def _attempt(self, step: Callable[[], None]) -> None:
        begun = ticks()
        try:
            step()
        except HoldfastError as error:
            detail, took = f"renewing: {error}", ticks() - begun
            self._observers.emit("store_error", worker=self._worker_id, detail=detail, duration=took, cause=error)
        except Exception:
            log.exception("the renewer of worker %s met an error and goes on", self._worker_id)

    def _renew(self) -> None:
        sent = ticks()
        held = [holding for holding in self._holdings.all() if not holding.given_up]
        due = [holding for holding in held if sent >= holding.renewed + holding.terms.renew_interval]
        if not due:
            return
        reasons = self._store.perform_sync(Renew(tuple((holding.claim, duration(holding.lease)) for holding in due)))
        for holding in due:
            if reason := reasons.get(holding.claim):
                self._lose(holding, reason)
            else:
                holding.renewed = sent
                self._observers.emit("renewed", holding.record)

    def _look(self) -> None:
        """Compare what we hold with what the store says, without writing."""
        holdings = self._holdings.all()
        records = self._store.perform_sync(GetJobs(tuple(holding.record.id for holding in holdings)))
        for holding, record in zip(holdings, records, strict=True):
            if reason := lost(record, holding.claim):
                self._lose(holding, reason)

    def _lose(self, holding: Holding, reason: LostReason) -> None:
        # No more renewals for it; its attempt says farewell by itself.
        if not holding.ended:
            self._holdings.remove(holding)
            holding.abort(reason)
