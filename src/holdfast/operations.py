"""The verbs, as values: what to do, said once for every store, sync and async.

A store performs an operation as one atomic step. Each takes a batch. Whatever writes after a claim names the
claim, and a store refuses it unless the job is running under that very token. Times come from the store's clock.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar

import msgspec

from holdfast.clock import Micros
from holdfast.errors import HoldfastError
from holdfast.job import ChainRecord, Claim, Record, Status
from holdfast.lifecycle import NewJob, Settlement

R = TypeVar("R")

LostReason = Literal["taken_by_another_worker", "already_completed", "cancelled", "not_found"]


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """Something a store can be asked to perform, with an answer of type R."""

    verb: ClassVar[str]
    writes: ClassVar[bool] = True


# Creating


class Started(NamedTuple):
    """A chain after `start`: made now, or found by its key or id."""

    chain: ChainRecord
    deduplicated: bool


class Start(Operation[list[Started]], frozen=True):
    """Create chains, in order, all or none; answers are in the same order.

    A job with a key is matched against the chains of its type with that key: of those in its dedup scope, created
    within its window and not excluded, the newest is the answer and nothing is written for that item. Of any number
    of callers with one key, exactly one creates. A job whose id exists already is answered with that chain, so
    sending the same start again is safe. Blockers that are not completed make the job blocked.
    An unknown blocker raises ChainNotFound.
    """

    verb: ClassVar = "start"
    jobs: tuple[NewJob, ...]


class Preview(Operation[list[ChainRecord | None]], frozen=True):
    """The chains that `Start` would find rather than make, in order; None where it would make one. Writes nothing.

    Only stores whose transactions are buffered need it.
    """

    verb: ClassVar = "preview"
    writes: ClassVar = False
    jobs: tuple[NewJob, ...]


# Holding


class TypeTerms(NamedTuple):
    """On what terms a worker takes jobs of one type."""

    type: str
    lease: Micros
    max_attempts: int


class ClaimJobs(Operation[list[Record]], frozen=True):
    """Hand out up to `limit` due jobs of these types, best first: pending becomes running, attempt rises by one.

    Two callers never receive the same job; one that another caller is busy claiming is skipped, not waited for.
    Paused types give nothing. The claim, its lease and its token are one write. A job without a limit of attempts
    of its own takes that of the terms. `again`: this was asked before, under this token, and not answered; what was
    handed out then and is still held is the answer, and only where that is nothing are others handed out.
    """

    verb: ClassVar = "claim"
    types: tuple[TypeTerms, ...]
    limit: int
    worker: str
    token: str
    again: bool = False


class Renew(Operation[dict[Claim, LostReason]], frozen=True):
    """Extend the leases of these claims, each by its own time from now; the answer names those that are lost, and why.

    A lease that ran out but was not reaped is still good.
    """

    verb: ClassVar = "renew"
    claims: tuple[tuple[Claim, Micros], ...]


class Settled(NamedTuple):
    """What became of one settlement: written, or refused because the claim was lost."""

    lost: LostReason | None = None
    refused: HoldfastError | None = None
    """It cannot be written as asked: an unknown blocker, a Conflict. Nothing of it was."""
    unblocked: tuple[tuple[str, str], ...] = ()
    """(id, type) of jobs that stopped being blocked."""

    @property
    def written(self) -> bool:
        return self.lost is None and self.refused is None


class Settle(Operation[list[Settled]], frozen=True):
    """Write the outcomes of attempts, each under its claim; answers are in the same order.

    A lost claim writes nothing and does not disturb the others. A settled job keeps the token it was settled under, so
    sending a settlement again is safe: one that stands written is answered like the first time.
    Completing the last job of a chain unblocks the jobs that waited for it alone; whichever of two blockers finishes
    last does it, however they overlap. A failed or cancelled chain fails the dependents that asked for that.
    A released attempt gives its number back.
    """

    verb: ClassVar = "settle"
    settlements: tuple[Settlement, ...]


class Guard(Operation[None], frozen=True):
    """In a transaction: make sure that the claim is good, and stays so until the end. Raises ClaimLost."""

    verb: ClassVar = "guard"
    claim: Claim


class ReportProgress(Operation[LostReason | None], frozen=True):
    """Note how far an attempt has come."""

    verb: ClassVar = "progress"
    claim: Claim
    fraction: float
    note: str | None


class Reaped(NamedTuple):
    """A job that was taken back from a worker that stopped renewing."""

    record: Record
    """As it stands now: pending, or failed when its attempts were used up."""
    worker: str | None


class Reap(Operation[list[Reaped]], frozen=True):
    """Take back up to `limit` running jobs of these types whose lease ran out, oldest first, except the `held` claims.

    With attempts left they are pending and due at once, otherwise failed as "lease lost".
    """

    verb: ClassVar = "reap"
    types: tuple[str, ...]
    held: tuple[Claim, ...]
    limit: int


# Completing from outside


class Step(msgspec.Struct, frozen=True):
    """One step of an external completion: the current job ends with an output, or with a continuation."""

    output: bytes | None = None
    continuation: NewJob | None = None


class LockChain(Operation[Record], frozen=True):
    """The chain's current (last) job, locked until the transaction ends where the store has such locks.

    Raises ChainNotFound.
    """

    verb: ClassVar = "lock"
    chain_id: str


class Complete(Operation[Settled], frozen=True):
    """Finish the chain's current job from outside, and the steps that follow from it, whoever runs it.

    Written only if `job_id` is still the chain's current job and unfinished, else AlreadyCompleted is raised;
    a chain that is gone raises ChainNotFound. Of any number of callers exactly one wins.
    """

    verb: ClassVar = "complete"
    chain_id: str
    job_id: str
    steps: tuple[Step, ...]
    starts: tuple[NewJob, ...] = ()
    expected: tuple[str, ...] = ()


# Operating


class Cancel(Operation[list[ChainRecord]], frozen=True):
    """Cancel the current job of each chain; answers the chains as they stand afterwards.

    A job that had not started never will; a running one can write nothing more, or is left alone where `spare_running`
    says so. Finished chains are left alone.
    An unknown chain raises ChainNotFound and nothing is cancelled.
    """

    verb: ClassVar = "cancel"
    chain_ids: tuple[str, ...]
    reason: bytes | None = None
    spare_running: bool = False


class RetryJobs(Operation[list[Record]], frozen=True):
    """Make failed or cancelled jobs pending again (blocked where blockers are still open), attempts granted anew.

    All or none: raises JobNotFound, or NotPending for a job in another status or no longer the
    last of its chain, or that still waits for a chain that was deleted.
    """

    verb: ClassVar = "retry"
    job_ids: tuple[str, ...]


class RunNow(Operation[list[Record]], frozen=True):
    """Make pending jobs due at once. All or none: raises JobNotFound or NotPending."""

    verb: ClassVar = "run_now"
    job_ids: tuple[str, ...]


class Delete(Operation[list[str]], frozen=True):
    """Delete chains whole, running ones too; answers the ids deleted. Unknown ids are passed over.

    With `cascade` the blockers of every job of these chains go too, and theirs. All or nothing: where an unfinished
    job outside the set waits for a chain inside it, StillReferenced is raised.
    """

    verb: ClassVar = "delete"
    chain_ids: tuple[str, ...]
    cascade: bool = False


class Pause(Operation[None], frozen=True):
    """Hand out no jobs of these types until they are resumed. Running ones go on."""

    verb: ClassVar = "pause"
    types: tuple[str, ...]


class Resume(Operation[None], frozen=True):
    """Hand out jobs of these types again."""

    verb: ClassVar = "resume"
    types: tuple[str, ...]


class Keep(Operation["list[bool | None]"], frozen=True):
    """Keep finished chains for this long from now on; None is for ever. Answers, in order, whether it was done.

    False for a chain that is not finished, None where there is no such chain, or it is past its keep time.
    """

    verb: ClassVar = "keep"
    chain_ids: tuple[str, ...]
    keep: Micros | None


class Prune(Operation[list[str]], frozen=True):
    """Delete up to `limit` finished chains past their keep time, oldest first; answers their ids.

    A chain that an unfinished job refers to stays.
    """

    verb: ClassVar = "prune"
    limit: int


# Reading


class GetChains(Operation[list[ChainRecord | None]], frozen=True):
    """The chains with these ids, in order; None where there is none."""

    verb: ClassVar = "get_chains"
    writes: ClassVar = False
    ids: tuple[str, ...]


class GetJobs(Operation[list[Record | None]], frozen=True):
    """The jobs with these ids, in order; None where there is none."""

    verb: ClassVar = "get_jobs"
    writes: ClassVar = False
    ids: tuple[str, ...]


class GetBlockers(Operation[list[ChainRecord]], frozen=True):
    """The chains a job waits or waited for, in the order given when it was created."""

    verb: ClassVar = "get_blockers"
    writes: ClassVar = False
    job_id: str


class Filter(msgspec.Struct, frozen=True):
    """Which rows a listing shows. Empty tuples and None mean any."""

    statuses: tuple[Status, ...] = ()
    scheduled: bool | None = None
    """True: only pending jobs that are due later."""
    types: tuple[str, ...] = ()
    chain_id: str | None = None
    key: str | None = None
    since: Micros | None = None
    until: Micros | None = None
    """Created at or after `since`, before `until`."""
    kept: bool = False
    """True, for chains only: none that is past its keep time, pruned or not."""


class ListChains(Operation[list[ChainRecord]], frozen=True):
    """Chains, newest first, after the row whose `seq` is `before`. The status is that of the last job; type, key and
    creation time are those of the first.

    `may_lag`, here and below: it is only to be looked at, so a store may ask a replica, which lags a little behind.
    """

    verb: ClassVar = "list_chains"
    writes: ClassVar = False
    filter: Filter
    limit: int
    before: int | None = None
    may_lag: bool = False


class ListJobs(Operation[list[Record]], frozen=True):
    """Jobs, newest first, after the row whose `seq` is `before`."""

    verb: ClassVar = "list_jobs"
    writes: ClassVar = False
    filter: Filter
    limit: int
    before: int | None = None
    may_lag: bool = False


class PastAttempt(NamedTuple):
    """An attempt that did not end its job well: the only kind that needs a row of its own."""

    number: int
    worker: str | None
    started_at: Micros | None
    ended_at: Micros
    outcome: str
    error: bytes | None
    next_at: Micros | None


class GetHistory(Operation["tuple[Record, list[PastAttempt]] | None"], frozen=True):
    """A job and its past attempts, oldest first."""

    verb: ClassVar = "get_history"
    writes: ClassVar = False
    job_id: str
    may_lag: bool = False


class TypeStats(NamedTuple):
    """How many jobs of a type stand where. `due` are those that may run now, the first since `oldest_due`."""

    type: str
    counts: dict[Status, int]
    due: int
    scheduled: int
    oldest_due: Micros | None
    paused: bool


class GetStats(Operation[list[TypeStats]], frozen=True):
    """Counts per type, from one consistent snapshot."""

    verb: ClassVar = "get_stats"
    writes: ClassVar = False
    may_lag: bool = False


class NextDue(Operation["Micros | None"], frozen=True):
    """How long until a pending job of these (unpaused) types is due, or a lease of theirs runs out.

    Never negative; None if there is neither.
    """

    verb: ClassVar = "next_due"
    writes: ClassVar = False
    types: tuple[str, ...]


# Live events


class EventRow(NamedTuple):
    """A transition that was committed while somebody listened. `kind` is a word of `holdfast.events`."""

    seq: int
    at: Micros
    kind: str
    job_id: str
    chain_id: str
    type: str
    attempt: int
    worker: str | None


class Listen(Operation[int], frozen=True):
    """Have transitions recorded for the next `lease`; answers the newest event's seq. Call again to go on listening."""

    verb: ClassVar = "listen"
    listener: str
    lease: Micros


class Unlisten(Operation[None], frozen=True):
    """Stop listening. When nobody does, nothing more is recorded."""

    verb: ClassVar = "unlisten"
    listener: str


class ReadEvents(Operation[list[EventRow]], frozen=True):
    """Events after `after`, oldest first."""

    verb: ClassVar = "read_events"
    writes: ClassVar = False
    after: int
    limit: int


# Health


class Finding(NamedTuple):
    """One line of `holdfast doctor`."""

    level: Literal["ok", "warning", "error"]
    subject: str
    detail: str


class Examine(Operation[list[Finding]], frozen=True):
    """Look for what is wrong with the store."""

    verb: ClassVar = "examine"
    writes: ClassVar = False
