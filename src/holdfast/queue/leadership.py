"""Leader election from the verbs every store has: an office is a job, and whoever holds its claim is in it.

The job is never completed. Its lease is renewed while the leader lives, given back when it resigns, and reaped by the
next candidate when it is silent; the token of the claim fences a leader that was asleep meanwhile.
"""

from __future__ import annotations

from holdfast.core.clock import duration
from holdfast.core.ids import new_id, new_token
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import FOR_EVER, Claim, Record, Status
from holdfast.engine.operations import ClaimJobs, LostReason, Reap, Renew, Settle, Start, TypeTerms
from holdfast.engine.procedures import Procedure
from holdfast.worker.held_claims import lease_clock

RENEW_AT = 1 / 3
GIVE_UP_AT = 0.9
"""Without a renewal for this part of the lease a leader steps down: another may be elected at any moment."""


class Leadership:
    """One candidate's part in an election. Of all the candidates for an office at most one holds it."""

    def __init__(self, office: str, candidate: str, *, lease: float) -> None:
        self.type = f"holdfast:leader:{office}"
        self._candidate = candidate
        self._lease = lease
        self._claim: Claim | None = None
        self._renewed = 0.0

    @property
    def held(self) -> bool:
        """Whether this candidate is the leader, as far as it can know without asking."""
        return self._claim is not None and lease_clock() < self._renewed + self._lease * GIVE_UP_AT

    @property
    def renewal_is_due(self) -> bool:
        return lease_clock() >= self._renewed + self._lease * RENEW_AT

    def campaign(self) -> Procedure[bool]:
        """Take the office if nobody holds it, or its holder fell silent; tells whether that succeeded."""
        self._claim = None
        job_id = new_id()
        office = NewJob(job_id, self.type, job_id, b"null", max_attempts=FOR_EVER, keep=0, key=self.type)
        yield Start((office,))
        yield Reap((self.type,), (), 1)
        sent = lease_clock()
        terms = TypeTerms(self.type, duration(self._lease), FOR_EVER)
        records: list[Record] = yield ClaimJobs((terms,), 1, self._candidate, new_token())
        if records:
            self._claim, self._renewed = records[0].claim, sent
        return bool(records)

    def renew(self) -> Procedure[bool]:
        """Stay in office; tells whether this candidate still is."""
        if self._claim is None:
            return False
        sent = lease_clock()
        lost: dict[Claim, LostReason] = yield Renew(((self._claim, duration(self._lease)),))
        if self._claim in lost:
            self._claim = None
            return False
        self._renewed = sent
        return True

    def resign(self) -> Procedure[None]:
        """Leave the office to the next at once."""
        claim, self._claim = self._claim, None
        if claim is not None:
            yield Settle((Settlement(claim, Status.PENDING, "released"),))
