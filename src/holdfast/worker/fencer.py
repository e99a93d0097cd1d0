"""Stops an attempt before its lease can have run out, where renewals fail or hang: another worker may take the job."""

from __future__ import annotations

import asyncio

from holdfast.worker.holdings import Holdings, ticks


class Fencer:
    """Watches the time since each claim was last renewed. Not on the renewer's thread, which may hang in the store."""

    def __init__(self, holdings: Holdings, *, shortest: float) -> None:
        self._holdings = holdings
        self._shortest = shortest

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            await asyncio.sleep(self._pause())
            now = ticks()
            for holding in self._holdings.all():
                if now >= holding.renewed + holding.terms.abort_after:
                    holding.abort("error")

    def _pause(self) -> float:
        """Until the first attempt may have to be given up. Claims may come meanwhile: half a lease is soon enough."""
        dues = [holding.renewed + holding.terms.abort_after for holding in self._holdings.all() if not holding.ended]
        return min(self._shortest / 2, max(min(dues, default=ticks() + self._shortest) - ticks(), self._shortest / 50))
