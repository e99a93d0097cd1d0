"""Errors about values, declarations and operations that are refused. Nothing was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from holdfast.error_types.holdfast_error import HoldfastError


class PayloadRefused(HoldfastError, ValueError):
    """A value cannot be stored and read back unchanged. Nothing was written."""


class WrongArguments(PayloadRefused, TypeError):
    """Arguments do not match the signature of the job type."""


class DuplicateJobType(HoldfastError, ValueError):
    """Two job types have the same name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"job type {name!r} is declared twice; give one of them another name=")


class WrongJobType(HoldfastError, TypeError):
    """The current job of the chain has another type than the caller named."""

    def __init__(self, chain_id: str, type: str, wanted: str) -> None:
        self.chain_id = chain_id
        self.type = type
        self.wanted = wanted
        super().__init__(f"the current job of chain {chain_id!r} is of type {type!r}, not {wanted!r}")


class WrongShard(HoldfastError, ValueError):
    """Parts of one call belong on different shards: a key, a chosen id, a blocker, `shard=` or the transaction."""


class WrongBlockers(HoldfastError, TypeError, ValueError):
    """The chains in `after` are not those that the job type declares with `blockers=`. Nothing was written."""

    def __init__(self, type: str, problem: str) -> None:
        self.type = type
        super().__init__(f"{type}: {problem}")

    @classmethod
    def of_another_type(cls, type: str, chain_id: str, found: str, wanted: str) -> Self:
        """A chain in `after` has another type than the job type declares at this position."""
        return cls(type, f"after= needs a chain of type {wanted!r} here, and chain {chain_id!r} is of type {found!r}")


class AlreadyCompleted(HoldfastError):
    """Another caller finished the current job of the chain first."""

    def __init__(self, chain_id: str) -> None:
        self.chain_id = chain_id
        super().__init__(f"the current job of chain {chain_id!r} was already finished")


class NotPending(HoldfastError):
    """The status of the job does not allow the operation. A retry refuses a pending job too."""

    def __init__(self, job_id: str, status: str, wanted: str) -> None:
        self.job_id = job_id
        self.status = status
        hint = ". A pending one needs no retry; run_now makes it due at once" if status == "pending" else ""
        super().__init__(f"job {job_id!r} is {status}; this needs a job that is {wanted}{hint}")

    @classmethod
    def blocker_deleted(cls, job_id: str, status: str) -> Self:
        """A retry is refused because a blocker was deleted: the job would wait forever."""
        return cls(job_id, status, "one whose blockers were not deleted: it would wait forever")

    @classmethod
    def none_failed(cls, job_id: str, status: str) -> Self:
        """A retry is refused because the job waits for the failure of a chain, and all chains have completed."""
        return cls(job_id, status, "one that waits for a failure which may still happen: its blockers have completed")

    @classmethod
    def key_taken(cls, job_id: str, status: str, chain_id: str) -> Self:
        """A retry is refused because another unfinished chain has the same key."""
        return cls(job_id, status, f"one whose key is free: chain {chain_id!r} is live under it")


class StillReferenced(HoldfastError):
    """Unfinished jobs wait for a chain that should be deleted. Nothing was deleted."""

    def __init__(self, references: Sequence[tuple[str, str]]) -> None:
        self.references = list(references)
        shown = "; ".join(f"job {job} waits for chain {chain}" for chain, job in self.references[:5])
        more = f" and {len(self.references) - 5} more" if len(self.references) > 5 else ""
        super().__init__(f"cannot delete: {shown}{more}. Delete or finish the waiting jobs first")


class DependencyCycle(HoldfastError, ValueError):
    """A job would wait for a chain that waits for the job's own chain. Nothing was written.

    `chain_ids` are the chains of the cycle: each waits for the next one, and the last for the first.
    """

    def __init__(self, chain_ids: Sequence[str]) -> None:
        self.chain_ids = list(chain_ids)
        super().__init__(f"{waits_in_cycle(self.chain_ids)}, so none of them would ever start")


def waits_in_cycle(chain_ids: Sequence[str]) -> str:
    """A cycle as text. A long cycle is shortened."""
    first, *others = chain_ids
    if not others:
        return f"chain {first!r} waits for itself"
    more = len(others) - 5
    names = [repr(chain) for chain in (others if more <= 1 else others[:4])]
    if more > 1:
        names += [f"... ({more} more)", repr(others[-1])]
    return f"chain {first!r} waits for " + "".join(f"{name}, which waits for " for name in names) + repr(first)


class ClaimLost(HoldfastError):
    """The worker no longer holds the job. Nothing was written.

    `reason` is one of the abort reasons: taken_by_another_worker, already_completed, cancelled, not_found.
    """

    def __init__(self, job_id: str, reason: str) -> None:
        self.job_id = job_id
        self.reason = reason
        super().__init__(f"the claim on job {job_id!r} is lost: {reason}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.job_id, self.reason)
