"""Claims due jobs for a worker."""

from __future__ import annotations

from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, TypeTerms
from holdfast.engine.store import Store
from holdfast.worker.held_claims import ticks


class Claimer:
    """Claims jobs, one claim at a time.

    One that was not answered is made again under the same token, so that what it may have taken runs now and does not
    lie about until its lease ends. After half of a lease it is given up: too little would be left of it.
    """

    def __init__(self, store: Store, terms: tuple[TypeTerms, ...], worker_id: str, *, shortest: float) -> None:
        self._store = store
        self._terms = terms
        self._worker_id = worker_id
        self._patience = shortest / 2
        self._unanswered: tuple[str, float] | None = None

    async def claim(self, limit: int) -> tuple[list[Record], float]:
        """Up to `limit` due jobs, and when they were asked for: their leases may count from then."""
        before, self._unanswered = self._unanswered, None
        again = before is not None and ticks() < before[1] + self._patience
        token, sent = before if before is not None and again else (new_token(), ticks())
        try:
            jobs = await self._store.perform(ClaimJobs(self._terms, limit, self._worker_id, token, again))
        except BaseException:
            self._unanswered = (token, sent)
            raise
        return jobs, sent
