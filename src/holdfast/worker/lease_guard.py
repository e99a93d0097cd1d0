"""Stops an attempt before its lease can have run out, where renewals fail or hang: another worker may take the job."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from holdfast.engine.observers import log
from holdfast.engine.operations import GetJobs, LostReason
from holdfast.engine.store import Store
from holdfast.worker.held_claims import Holding, Holdings, ticks
from holdfast.worker.losses import lost

PROMPT = 1.0
"""Seconds at most, and at most half the shortest lease, that the store has to give the reason of a lost claim."""


class Fencer:
    """Watches the time since each claim was last renewed. Not on the renewer's thread, which may hang in the store."""

    def __init__(self, store: Store, holdings: Holdings, *, shortest: float) -> None:
        self._store = store
        self._holdings = holdings
        self._shortest = shortest

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            await asyncio.sleep(self._pause())
            endangered = [holding for holding in self._holdings.all() if _in_danger(holding)]
            # The fencer is in time unless the whole process was stopped. If it is late, then another worker may have
            # taken the job, and the store knows.
            expired = [holding for holding in endangered if ticks() >= holding.renewed + holding.lease]
            reasons = self._reasons(expired) if expired else {}
            for holding in endangered:
                if _in_danger(holding):  # else the renewer has renewed it meanwhile
                    holding.abort(reasons.get(holding.record.id, "error"))

    def _reasons(self, expired: Sequence[Holding]) -> dict[str, LostReason]:
        """Ask the store, for a moment, which of these claims are lost, and why.

        This blocks the event loop, so no async handler runs until its attempt is aborted with the right reason.
        """
        reasons: dict[str, LostReason] = {}
        answered = threading.Event()

        def ask() -> None:
            try:
                records = self._store.perform_sync(GetJobs(tuple(holding.record.id for holding in expired)))
                found = zip(expired, records, strict=True)
                reasons.update(
                    (holding.record.id, reason) for holding, record in found if (reason := lost(record, holding.claim))
                )
            except Exception as error:
                log.debug("the store did not say what became of expired claims", exc_info=error)
            finally:
                answered.set()

        try:
            threading.Thread(target=ask, name="holdfast-fencer", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            return {}
        return reasons if answered.wait(min(PROMPT, self._shortest / 2)) else {}

    def _pause(self) -> float:
        """Until the first attempt may have to be given up. Claims may come meanwhile: half a lease is soon enough."""
        dues = [holding.renewed + holding.terms.abort_after for holding in self._holdings.all() if not holding.ended]
        return min(self._shortest / 2, max(min(dues, default=ticks() + self._shortest) - ticks(), self._shortest / 50))


def _in_danger(holding: Holding) -> bool:
    """Whether an attempt that still runs was not renewed for so long that its lease is about to end, or has ended."""
    running = not holding.ended and not holding.signal.aborted
    return running and ticks() >= holding.renewed + holding.terms.abort_after
