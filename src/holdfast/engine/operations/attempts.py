"""Operations of workers: claim, renew, settle, guard, report progress, reap."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lifecycle import Settlement
from holdfast.core.lost_claims import LostReason
from holdfast.core.record import Claim, Record
from holdfast.engine.operations.operation import Operation
from holdfast.errors import HoldfastError


class TypeTerms(NamedTuple):
    """The lease and the default limit of attempts with which a worker claims jobs of one type."""

    type: str
    lease: Micros
    max_attempts: int
    ahead: bool = False
    """Whether jobs of this type may be claimed ahead."""


class ClaimedJobs(list[Record]):
    """Claimed jobs, best first."""

    overlaps: bool = False
    """Whether the store performs another claim of this kind at the same time. Two then take less time than in turn."""

    def __init__(self, jobs: Iterable[Record] = (), new: Collection[str] = ()) -> None:
        super().__init__(jobs)
        self.new = new
        """Ids of jobs that no worker had claimed before: they have no steps. Empty unless the claim asked for them."""

    def add(self, more: list[Record]) -> None:
        """Add jobs that the same call claimed later, under the same token.

        A job may be in both: it was lost in between, for example cancelled and retried. Then only the later claim
        counts. Both have the same token, so two handlers of the job could not be distinguished.
        """
        lost = {job.id for job in more}.intersection([job.id for job in self])
        if lost:
            self[:] = [job for job in self if job.id not in lost]
            self.new = set(self.new) - lost
        self += more
        if found := getattr(more, "new", ()):
            self.new = {*self.new, *found}


class ClaimJobs(Operation[list[Record]], frozen=True):
    """Claim up to `limit` due jobs of these types. Their status becomes running, and `attempt` increases by one.

    The order is: highest priority first, then the earliest due time, then the order of creation. Two callers never
    receive the same job. A job that another caller is claiming is skipped, not waited for. Jobs of paused types are not
    claimed. Status, lease and token are one write. A job without a limit of attempts takes the limit of its terms.

    `ahead`: up to this many more jobs are claimed for slots that will soon be free. They are next in the same order.
    The claim ahead ends at the first job whose terms do not allow it: `holdfast.core.claim_ahead.claimable`. No
    job overtakes another, and none waits for a slow one. While jobs with lanes may be claimed, none is claimed ahead.

    `again`: an earlier call with this token got no response. The jobs that it claimed and that are still held are
    returned. Only if there are none, other jobs are claimed. `had` jobs were received under this token before, and are
    not returned once more.

    `finds_new`: the result is `ClaimedJobs`, which names the jobs without an earlier claim. Of jobs with lanes, and of
    jobs that an earlier call claimed, it names none.
    """

    verb: ClassVar = "claim"
    types: tuple[TypeTerms, ...]
    limit: int
    worker: str
    token: str
    again: bool = False
    ahead: int = 0
    had: int = 0
    finds_new: bool = False


class Renew(Operation[dict[Claim, LostReason]], frozen=True):
    """Extend the leases of these claims, each by its own duration from now. Returns the lost claims with the reasons.

    A lease that expired but was not reaped can still be renewed.
    """

    verb: ClassVar = "renew"
    reserved: ClassVar = True
    claims: tuple[tuple[Claim, Micros], ...]


class Settled(NamedTuple):
    """The result of one settlement: written, or not written because the claim was lost."""

    lost: LostReason | None = None
    refused: HoldfastError | None = None
    """Why the settlement is invalid: ChainNotFound of a blocker, DependencyCycle or Conflict. Nothing was written."""
    unblocked: tuple[tuple[str, str], ...] = ()
    """(id, type) of jobs that stopped being blocked."""

    @property
    def written(self) -> bool:
        return self.lost is None and self.refused is None


WRITTEN = Settled()
"""The usual result. Stores return this object, so that a worker recognises it without a comparison of values."""


class Settle(Operation[list[Settled]], frozen=True):
    """Write the outcomes of attempts, each with its claim. Results are in the same order.

    A settlement with a lost claim writes nothing and does not affect the others. A settled job keeps the token of its
    settlement. So a settlement may be sent again: if it was written before, the result is the same as the first time.

    Completing the last job of a chain unblocks the jobs that wait only for this chain. If two blockers of a job
    complete at the same time, exactly one of the two settlements unblocks the job. A failed or cancelled chain
    fails the dependents that were created with `on_blocker_failure="fail"`.

    A continuation that names a chain which waits for the continuation's own chain is refused with DependencyCycle. Of
    several settlements that together would close a cycle, also concurrent ones, at least one is refused.

    A settlement with the outcome "suspended" returns the job to pending without counting the attempt. Rates do not
    count it again. Its error becomes null. The job is due at `holdfast.core.steps.due_after(waits)`. For each wait an
    open row is added to the steps (`Wait.row`) unless the job has one with this name. If the chain has a message with
    the name of a receive, the job is due now; otherwise the message wakes it.

    The number of a released attempt is used again for the next attempt. `again`: an earlier call got no response. A
    store that remembers its results may return the first result, even if another worker has claimed the job since.

    `commits`: the caller commits the transaction next if the settlement was written, and rolls it back if not. There is
    one settlement, which completes its job. So a store may commit together with it, in one round trip: after an error
    the caller does not know whether it has. The application must not use the transaction any more. The caller calls
    `commit` or `rollback` in any case.
    """

    verb: ClassVar = "settle"
    settlements: tuple[Settlement, ...]
    again: bool = False
    commits: bool = False


class Guard(Operation[None], frozen=True):
    """Check in a transaction that the claim is still valid, and lock the job until the end. Raises ClaimLost."""

    verb: ClassVar = "guard"
    claim: Claim


class ReportProgress(Operation[LostReason | None], frozen=True):
    """Store how far an attempt has come. Returns the reason if the claim is lost."""

    verb: ClassVar = "progress"
    claim: Claim
    fraction: float
    note: str | None


class AttemptLog(NamedTuple):
    """What the handler of an attempt logged, as UTF-8 text."""

    claim: Claim
    log: bytes

    def __repr__(self) -> str:
        """Without the text, which may contain secrets."""
        return f"AttemptLog({self.claim!r}, {len(self.log)} bytes)"


class SaveLogs(Operation[None], frozen=True):
    """Add the logs of running attempts to the histories of their jobs. A log whose claim is lost is ignored.

    A log is a row of the history with the outcome LOG and the text as its error, before the row of the attempt. The
    worker sends it before the settlement, so that a settled attempt has its log. If it is sent again, the last one
    counts.
    """

    verb: ClassVar = "save_logs"
    logs: tuple[AttemptLog, ...]


class Reaped(NamedTuple):
    """A job whose lease had expired, after the reap."""

    record: Record
    """The job after the reap: pending, or failed if it had no attempts left."""
    worker: str | None


class Reap(Operation[list[Reaped]], frozen=True):
    """End the attempts of up to `limit` running jobs of these types whose lease expired, oldest lease first.

    The `held` claims are skipped: the caller knows that it still runs these jobs. `holdfast.core.lost_claims.reap`
    decides the new status: pending and due at once, or failed if no attempts are left.
    """

    verb: ClassVar = "reap"
    types: tuple[str, ...]
    held: tuple[Claim, ...]
    limit: int
