"""What can go wrong, as classes a caller can act on.

    HoldfastError
    ├── StoreUnavailable          the store cannot be reached, or did not answer; nothing is known to be lost
    │   └── StoreReplaced         the SQLite file was removed or replaced while this program used it
    ├── NotPermitted              the role, user or file mode lacks a privilege; the text names it
    ├── MissingExtra              a driver that is not installed              (also an ImportError)
    ├── PayloadRefused            a value cannot be stored exactly            (also a ValueError)
    │   └── WrongArguments        unknown, missing or ill-typed arguments     (also a TypeError)
    ├── UnknownJobType            no such name in the registry                (also a LookupError)
    ├── DuplicateJobType          a name declared twice                       (also a ValueError)
    ├── ChainNotFound, JobNotFound                                            (also LookupErrors)
    ├── WrongJobType              the chain's current job has another type than the caller named  (also a TypeError)
    ├── AlreadyCompleted          the chain's current job was finished by someone else
    ├── NotPending                the job is not in a status that allows what was asked
    ├── StillReferenced           deleting would strand an unfinished job
    ├── ClaimLost                 this worker no longer holds the job; `reason` says why
    ├── DependencyCycle           chains would wait for each other for ever   (also a ValueError)
    ├── Conflict                  what a buffered transaction had read changed before it committed
    ├── WaitTimeout               the caller's patience ended; the chain goes on   (also a TimeoutError)
    ├── ChainFailed, ChainCancelled
    └── JobFailed, JobCancelled   the same for a named queue
        └── AttemptsExhausted     a JobFailed that used up its attempts

Mistakes in a program are plain TypeErrors and ValueErrors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from holdfast.core.failure import ErrorText


class HoldfastError(Exception):
    """The root of every error that Holdfast raises for a caller to act on."""


class StoreUnavailable(HoldfastError):
    """The store cannot be reached or did not answer in time."""

    def __init__(self, store: str, detail: str) -> None:
        self.store = store
        super().__init__(f"{store} is unavailable: {detail}")


class StoreReplaced(StoreUnavailable):
    """The SQLite file was removed, or another file is in its place. Trying again does not help: open a new client."""

    def __init__(self, store: str, path: str) -> None:
        super().__init__(
            store,
            f"the file {path} was removed or replaced while this program used it, and nothing was written. Put the "
            "file back, or restart the programs that use it so that they open the file that is there now",
        )


class NotPermitted(HoldfastError):
    """The store refused an operation because a privilege is missing. Nothing was written.

    `privilege` names what is missing; an administrator has to grant it.
    """

    def __init__(self, store: str, detail: str, privilege: str) -> None:
        self.store = store
        self.privilege = privilege
        super().__init__(f"{store} does not permit this: {detail}. It needs {privilege}")


class MissingExtra(HoldfastError, ImportError):
    """What was asked for needs a driver that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs the extra: pip install 'holdfast[{extra}]'")


class PayloadRefused(HoldfastError, ValueError):
    """A value that would not come back exactly as it was. Nothing was written."""


class WrongArguments(PayloadRefused, TypeError):
    """Arguments that do not fit the job type's signature."""


class UnknownJobType(HoldfastError, LookupError):
    """A job type that this registry does not have."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"unknown job type {name!r} (declared here: {names})")


class DuplicateJobType(HoldfastError, ValueError):
    """Two declarations under one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"job type {name!r} is declared twice; give one of them another name=")


class ChainNotFound(HoldfastError, LookupError):
    """No chain has this id: it never existed, was deleted, or was pruned."""

    def __init__(self, chain_id: str) -> None:
        self.chain_id = chain_id
        super().__init__(f"there is no chain {chain_id!r} (never started, deleted, or past its keep time)")


class JobNotFound(HoldfastError, LookupError):
    """No job has this id."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"there is no job {job_id!r} (never created, deleted, or past its keep time)")


class AlreadyCompleted(HoldfastError):
    """Someone else finished the chain's current job first."""

    def __init__(self, chain_id: str) -> None:
        self.chain_id = chain_id
        super().__init__(f"the current job of chain {chain_id!r} was already finished")


class WrongJobType(HoldfastError, TypeError):
    """The chain's current job has another type than the caller named: the chain is at another step."""

    def __init__(self, chain_id: str, type: str, wanted: str) -> None:
        self.chain_id = chain_id
        self.type = type
        self.wanted = wanted
        super().__init__(f"the current job of chain {chain_id!r} is of type {type!r}, not {wanted!r}")


class NotPending(HoldfastError):
    """The job's status does not allow what was asked: not even "pending" does, where it is asked to begin anew."""

    def __init__(self, job_id: str, status: str, wanted: str) -> None:
        self.job_id = job_id
        self.status = status
        hint = ". A pending one needs no retry; run_now makes it due at once" if status == "pending" else ""
        super().__init__(f"job {job_id!r} is {status}; this needs a job that is {wanted}{hint}")

    @classmethod
    def blocker_deleted(cls, job_id: str, status: str) -> Self:
        """It cannot begin anew: it would wait for ever."""
        return cls(job_id, status, "one whose blockers were not deleted: it would wait for ever")

    @classmethod
    def key_taken(cls, job_id: str, status: str, chain_id: str) -> Self:
        """It cannot begin anew: two live chains would share one key."""
        return cls(job_id, status, f"one whose key is free: chain {chain_id!r} is live under it")


class StillReferenced(HoldfastError):
    """Chains that unfinished jobs wait for. Nothing was deleted."""

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
    """The chains of a cycle in words; of a long one only the first and the last."""
    first, *others = chain_ids
    if not others:
        return f"chain {first!r} waits for itself"
    more = len(others) - 5
    names = [repr(chain) for chain in (others if more <= 1 else others[:4])]
    if more > 1:
        names += [f"... ({more} more)", repr(others[-1])]
    return f"chain {first!r} waits for " + "".join(f"{name}, which waits for " for name in names) + repr(first)


class ClaimLost(HoldfastError):
    """The worker that speaks no longer holds the job, so nothing was written.

    `reason` is one of the abort reasons: taken_by_another_worker, already_completed, cancelled, not_found.
    """

    def __init__(self, job_id: str, reason: str) -> None:
        self.job_id = job_id
        self.reason = reason
        super().__init__(f"the claim on job {job_id!r} is lost: {reason}")


class Conflict(HoldfastError):
    """Something read in a buffered transaction changed before it was committed. Nothing was written."""


class WaitTimeout(HoldfastError, TimeoutError):
    """The wait ended before the chain, or a named queue's job, did. It goes on."""

    def __init__(self, id: str, timeout: float, *, subject: str = "chain") -> None:
        self.id = id
        self.chain_id = id
        self.timeout = timeout
        super().__init__(f"{subject} {id!r} was not finished after {timeout:g} s; it goes on, wait again for it")


class _Ended(HoldfastError):
    def __init__(self, id: str, error: ErrorText | None, *, subject: str, verb: str) -> None:
        self.id = id
        self.error = error
        super().__init__(f"{subject} {id!r} {verb}" + (f": {error}" if error else ""))


class ChainFailed(_Ended):
    """The chain's last job failed for good. `error` is its text, with `type`, `message` and `traceback`."""

    def __init__(self, chain_id: str, error: ErrorText | None = None) -> None:
        self.chain_id = chain_id
        super().__init__(chain_id, error, subject="chain", verb="failed")


class ChainCancelled(_Ended):
    """The chain was cancelled."""

    def __init__(self, chain_id: str, error: ErrorText | None = None) -> None:
        self.chain_id = chain_id
        super().__init__(chain_id, error, subject="chain", verb="was cancelled")


class JobFailed(_Ended):
    """A job of a named queue failed permanently.

    `payload` is the payload that the job was enqueued with; `attempts` is the number of its attempts. Both are None
    where they are not known, and the payload also where it cannot be decoded.
    """

    def __init__(
        self, job_id: str, error: ErrorText | None = None, *, payload: Any = None, attempts: int | None = None
    ) -> None:
        self.job_id = job_id
        self.payload = payload
        self.attempts = attempts
        super().__init__(job_id, error, subject="job", verb="failed")


class AttemptsExhausted(JobFailed):
    """A job of a named queue failed in its last attempt."""


class JobCancelled(_Ended):
    """A job of a named queue was cancelled."""

    def __init__(self, job_id: str, error: ErrorText | None = None) -> None:
        self.job_id = job_id
        super().__init__(job_id, error, subject="job", verb="was cancelled")
