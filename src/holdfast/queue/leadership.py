"""Leader election on every store: the leadership is a job, and the candidate that claimed it is the leader.

The job is never completed. The leader renews its lease, and releases the claim when it resigns. If the leader stops
renewing, the next candidate reaps the job. The token of the claim then refuses the writes of the former leader.
"""

from __future__ import annotations

from holdfast.core.clock import duration
from holdfast.core.ids import new_id, new_token
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import UNLIMITED, Claim, Record, Status
from holdfast.engine.operations import ClaimJobs, LostReason, Place, Reap, Renew, Settle, Start, TypeTerms
from holdfast.engine.procedures import Procedure
from holdfast.worker.held_claims import lease_clock

RENEW_AT = 1 / 3
GIVE_UP_AT = 0.9
"""After this part of the lease without a renewal, a leader resigns: another may be elected soon."""


class Leadership:
    """One candidate of an election. At most one candidate is the leader at a time."""

    def __init__(self, name: str, candidate: str, *, lease: float, sharded: bool = False) -> None:
        self.type = f"holdfast:leader:{name}"
        self._candidate = candidate
        self._lease = lease
        self._sharded = sharded
        self._claim: Claim | None = None
        self._renewed = 0.0

    @property
    def held(self) -> bool:
        """Whether this candidate is the leader, by its last renewal. Does not read the store."""
        return self._claim is not None and lease_clock() < self._renewed + self._lease * GIVE_UP_AT

    @property
    def renewal_is_due(self) -> bool:
        return lease_clock() >= self._renewed + self._lease * RENEW_AT

    def campaign(self) -> Procedure[bool]:
        """Become the leader if there is none, or if its lease has expired. Returns whether that succeeded."""
        self._claim = None
        job_id = new_id()
        job = NewJob(job_id, self.type, job_id, b"null", max_attempts=UNLIMITED, keep=0, key=self.type, chosen=False)
        jobs: tuple[NewJob, ...] = (yield Place((job,))) if self._sharded else (job,)
        yield Start(jobs)
        yield Reap((self.type,), (), 1)
        sent = lease_clock()
        terms = TypeTerms(self.type, duration(self._lease), UNLIMITED)
        records: list[Record] = yield ClaimJobs((terms,), 1, self._candidate, new_token())
        if records:
            self._claim, self._renewed = records[0].claim, sent
        return bool(records)

    def renew(self) -> Procedure[bool]:
        """Renew the lease. Returns whether this candidate is still the leader."""
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
        """Release the leadership, so that another candidate can take it at once."""
        claim, self._claim = self._claim, None
        if claim is not None:
            yield Settle((Settlement(claim, Status.PENDING, "released"),))
