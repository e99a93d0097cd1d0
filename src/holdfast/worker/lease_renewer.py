"""Renews leases in a separate thread, so that a handler that blocks the event loop does not lose its job."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.core.clock import duration
from holdfast.core.lost_claims import claim_lost_reason
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import GetJobs, LostReason, Renew
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError
from holdfast.worker.held_claims import HeldClaim, HeldClaims, lease_clock

CHECK_INTERVAL = 0.25
"""The minimum seconds between two checks for lost claims, even if many wake-ups arrive."""


class LeaseRenewer:
    """Renews all leases that are due in one operation, and aborts attempts whose claim is lost.

    A renewal has three results. Renewed: the attempt continues. Lost: the attempt is aborted at once, with the reason.
    Unknown, because the store did not answer: the renewer tries again, and the lease guard aborts in time.
    """

    def __init__(
        self,
        store: Store,
        held_claims: HeldClaims,
        observers: Observers,
        worker_id: str,
        *,
        shortest: float,
        interval: float,
    ) -> None:
        self._store = store
        self._held_claims = held_claims
        self._observers = observers
        self._worker_id = worker_id
        self._shortest = shortest
        self._interval = interval
        """The shortest renew interval of the types."""
        self._wake = threading.Event()
        self._stopped = False
        self._check_requested = False
        self._checked_at = 0.0
        self._thread = threading.Thread(target=self._run, name=f"holdfast-renewer-{worker_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """End the thread. If it hangs in a call to the store, it continues; it is a daemon thread."""
        self._stopped = True
        self._wake.set()
        self._thread.join(timeout)

    def receive(self, hints: Hints) -> None:
        """Check the claims soon if the hints name one of them."""
        if hints.anything or any(self._held_claims.get(job_id) for job_id in hints.lost):
            self._check_requested = True
            self._wake.set()

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._pause())
            self._wake.clear()
            if self._check_requested and lease_clock() >= self._checked_at + CHECK_INTERVAL:
                self._check_requested = False
                self._checked_at = lease_clock()
                self._try(self._check_claims)
            self._try(self._renew)

    def _pause(self) -> float:
        """Seconds to wait. Never longer than the shortest interval: new claims may arrive meanwhile."""
        longest = self._interval
        now = lease_clock()
        dues = [
            held_claim.renewed + held_claim.options.renew_interval
            for held_claim in self._held_claims.all()
            if not held_claim.given_up
        ]
        if dues:
            left = min(dues) - now
            # An overdue renewal has failed before: do not retry at once.
            longest = min(longest, left if left > 0 else self._shortest / 20)
        return min(longest, max(self._checked_at + CHECK_INTERVAL - now, 0)) if self._check_requested else longest

    def _try(self, action: Callable[[], None]) -> None:
        begun = lease_clock()
        try:
            action()
        except HoldfastError as error:
            detail, took = f"renewing: {error}", lease_clock() - begun
            self._observers.emit("store_error", worker=self._worker_id, detail=detail, duration=took, cause=error)
        except Exception:
            log.exception("the renewer of worker %s raised an error and continues", self._worker_id)

    def _renew(self) -> None:
        sent = lease_clock()
        held = [each for each in self._held_claims.all() if not each.given_up]
        due = [each for each in held if sent >= each.renewed + each.options.renew_interval]
        if not due:
            return
        reasons = self._store.perform_sync(Renew(tuple((each.claim, duration(each.lease)) for each in due)))
        for held_claim in due:
            if reason := reasons.get(held_claim.claim):
                self._abort_lost(held_claim, reason)
            else:
                held_claim.renewed = sent
                self._observers.emit("renewed", held_claim.record)

    def _check_claims(self) -> None:
        """Compare the held claims with the store, without writing."""
        held_claims = self._held_claims.all()
        records = self._store.perform_sync(GetJobs(tuple(each.record.id for each in held_claims)))
        for held_claim, record in zip(held_claims, records, strict=True):
            if reason := claim_lost_reason(record, held_claim.claim):
                self._abort_lost(held_claim, reason)

    def _abort_lost(self, held_claim: HeldClaim, reason: LostReason) -> None:
        # Do not renew this claim again. The task of the attempt emits the event.
        if not held_claim.ended:
            self._held_claims.remove(held_claim)
            held_claim.abort(reason)
