"""Aborts an attempt if renewals fail or hang, before its lease expires and another worker may claim the job."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from holdfast.core.lost_claims import claim_lost_reason
from holdfast.engine.observers import log
from holdfast.engine.operations import GetJobs, LostReason
from holdfast.engine.store import Store
from holdfast.worker.held_claims import HeldClaim, HeldClaims, lease_clock

ANSWER_TIMEOUT = 1.0


def answer_timeout(shortest: float) -> float:
    """The maximum seconds to wait for the store's report why a claim was lost: at most half of the shortest lease."""
    return min(ANSWER_TIMEOUT, shortest / 2)


class LeaseGuard:
    """Checks when each claim was last renewed. It does not use the renewer's thread, which may hang in a call."""

    def __init__(self, store: Store, held_claims: HeldClaims, *, shortest: float) -> None:
        self._store = store
        self._held_claims = held_claims
        self._shortest = shortest

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(self._pause())
            endangered = [each for each in self._held_claims.all() if _in_danger(each)]
            # The guard is in time unless the whole process was frozen. After a freeze another worker may have claimed
            # the job, so ask the store.
            expired = [each for each in endangered if lease_clock() >= each.renewed + each.lease]
            reasons = self._reasons(expired) if expired else {}
            for held_claim in endangered:
                if _in_danger(held_claim):  # the renewer may have renewed it meanwhile
                    held_claim.abort(reasons.get(held_claim.record.id, "error"))

    def _reasons(self, expired: Sequence[HeldClaim]) -> dict[str, LostReason]:
        """Ask the store, with a short timeout, which of these claims are lost, and why.

        This blocks the event loop on purpose: no async handler runs before its attempt is aborted with its reason.
        """
        reasons: dict[str, LostReason] = {}
        answered = threading.Event()

        def ask() -> None:
            try:
                records = self._store.perform_sync(GetJobs(tuple(each.record.id for each in expired)))
                found = zip(expired, records, strict=True)
                reasons.update(
                    (held_claim.record.id, reason)
                    for held_claim, record in found
                    if (reason := claim_lost_reason(record, held_claim.claim))
                )
            except Exception as error:
                log.debug("the store could not report the state of expired claims", exc_info=error)
            finally:
                answered.set()

        try:
            threading.Thread(target=ask, name="holdfast-lease_guard", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            return {}
        return reasons if answered.wait(answer_timeout(self._shortest)) else {}

    def _pause(self) -> float:
        """Seconds until an attempt may have to be aborted. At most half a lease: new claims may arrive meanwhile."""
        dues = [
            held_claim.renewed + held_claim.options.abort_after
            for held_claim in self._held_claims.all()
            if not held_claim.ended
        ]
        return min(
            self._shortest / 2,
            max(min(dues, default=lease_clock() + self._shortest) - lease_clock(), self._shortest / 50),
        )


def _in_danger(held_claim: HeldClaim) -> bool:
    """Whether the lease of a running attempt is about to expire, or has expired, because it was not renewed."""
    running = not held_claim.ended and not held_claim.signal.aborted
    return running and lease_clock() >= held_claim.renewed + held_claim.options.abort_after
