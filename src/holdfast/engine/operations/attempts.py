"""Verbs of those who hold jobs: claim, renew, settle, and taking back what was lost."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.lifecycle import Settlement
from holdfast.core.lost_claims import LostReason
from holdfast.core.record import Claim, Record
from holdfast.engine.operations.operation import Operation
from holdfast.errors import HoldfastError


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
    """It cannot be written as asked: an unknown blocker, a DependencyCycle, a Conflict. Nothing of it was written."""
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
    A continuation that names a chain which waits for the continuation's own chain is refused with DependencyCycle. Of
    any number of settlements that close a cycle together, at the same moment too, at least one is refused.
    A released attempt gives its number back. `again`: this was asked before and not answered; a store that remembers
    may answer like the first time even where somebody has taken the job since.
    """

    verb: ClassVar = "settle"
    settlements: tuple[Settlement, ...]
    again: bool = False


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
