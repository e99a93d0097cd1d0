"""Claims due jobs for a worker."""

from __future__ import annotations

from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, TypeTerms
from holdfast.engine.store import Store
from holdfast.worker.ahead_size import Room
from holdfast.worker.held_claims import lease_clock


class Claimer:
    """Claims jobs, one claim at a time.

    If the answer to a claim was lost, the claimer sends the claim again with the same token. Jobs that the first try
    claimed then run now, and not only after their leases have expired. After half of the shortest lease the claimer
    uses a new token: too little of the leases is left.
    """

    def __init__(self, store: Store, terms: tuple[TypeTerms, ...], worker_id: str, *, shortest: float) -> None:
        self._store = store
        self._terms: tuple[TypeTerms, ...] = terms
        self._fast: frozenset[str] = frozenset()
        self._worker_id = worker_id
        self._reuse_seconds = shortest / 2
        self._unanswered: tuple[str, float] | None = None

    @property
    def unanswered(self) -> bool:
        """Whether the answer to the last claim was lost."""
        return self._unanswered is not None

    async def claim(self, room: Room) -> tuple[list[Record], float]:
        """Claim due jobs for this room. Returns them, and the time of the request: no lease began before it."""
        if room.fast != self._fast:
            self._fast = room.fast
            self._terms = tuple(each._replace(ahead=each.type in room.fast) for each in self._terms)
        before, self._unanswered = self._unanswered, None
        again = before is not None and lease_clock() < before[1] + self._reuse_seconds
        token, sent = before if before is not None and again else (new_token(), lease_clock())
        operation = ClaimJobs(
            self._terms, room.limit, self._worker_id, token, again, room.ahead, finds_new=room.finds_new
        )
        try:
            jobs = await self._store.perform(operation)
        except BaseException:
            self._unanswered = (token, sent)
            raise
        return jobs, sent
