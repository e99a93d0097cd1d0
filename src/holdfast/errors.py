"""Errors that a caller can handle.

    HoldfastError
    ├── StoreUnavailable          the store cannot be reached, or did not respond in time
    │   └── StoreReplaced         the SQLite file was removed or replaced while this program used it
    ├── NotPermitted              the role, user or file mode lacks a privilege; the text names it
    ├── MissingExtra              a driver that is not installed              (also an ImportError)
    ├── PayloadRefused            a value cannot be stored exactly            (also a ValueError)
    │   └── WrongArguments        unknown, missing or ill-typed arguments     (also a TypeError)
    ├── UnknownJobType            no such name in the registry                (also a LookupError)
    ├── DuplicateJobType          a name declared twice                       (also a ValueError)
    ├── ChainNotFound, JobNotFound, LimitNotFound, ScheduleNotFound, StepNotFound   (also LookupErrors)
    ├── WorkerNotFound            no live worker has this id                  (also a LookupError)
    ├── WrongJobType              the chain's current job has another type than the caller named  (also a TypeError)
    ├── WrongBlockers             `after` lacks the chains that the job type declares  (also a TypeError and ValueError)
    ├── AlreadyCompleted          the chain's current job was finished by another caller
    ├── NotPending                the status of the job does not allow the operation
    ├── StillReferenced           an unfinished job waits for a chain that should be deleted
    ├── ClaimLost                 this worker no longer holds the job; `reason` says why
    ├── DependencyCycle           chains would wait for each other forever    (also a ValueError)
    ├── Conflict                  data that a buffered transaction read changed before its commit
    ├── WaitTimeout               the timeout of the caller ended; the chain continues  (also a TimeoutError)
    ├── StepTimeout, MessageTimeout   a step took too long; a message did not arrive in time  (also TimeoutErrors)
    ├── ChainFailed, ChainCancelled
    └── JobFailed, JobCancelled   the same for a named queue
        └── AttemptsExhausted     a JobFailed without attempts left

Mistakes of the programmer raise plain TypeErrors and ValueErrors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from holdfast.core.failure import ErrorText


class HoldfastError(Exception):
    """The base class of all errors that a caller can handle."""


class StoreUnavailable(HoldfastError):
    """The store cannot be reached, or did not respond in time."""

    def __init__(self, store: str, detail: str) -> None:
        self.store = store
        super().__init__(f"{store} is unavailable: {detail}")


class StoreReplaced(StoreUnavailable):
    """The SQLite file was removed, or another file is in its place. A retry does not help: open a new client."""

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
    """A feature needs a driver that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs the extra: pip install 'holdfast[{extra}]'")


class PayloadRefused(HoldfastError, ValueError):
    """A value cannot be stored and read back unchanged. Nothing was written."""


class WrongArguments(PayloadRefused, TypeError):
    """Arguments do not match the signature of the job type."""


class UnknownJobType(HoldfastError, LookupError):
    """The registry does not contain this job type."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"unknown job type {name!r} (declared here: {names})")


class DuplicateJobType(HoldfastError, ValueError):
    """Two job types have the same name."""

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


class StepNotFound(HoldfastError, LookupError):
    """The job has no step with this name."""

    def __init__(self, job_id: str, name: str) -> None:
        self.job_id = job_id
        self.name = name
        super().__init__(f"job {job_id!r} has no step {name!r}; `holdfast show {job_id}` lists its steps")


class WorkerNotFound(HoldfastError, LookupError):
    """No live worker has this id."""

    def __init__(self, worker_id: str) -> None:
        self.worker_id = worker_id
        super().__init__(
            f"there is no live worker {worker_id!r}: it has stopped, or it has not reported itself for 90 s; "
            "`holdfast workers` lists the live ones"
        )


class AlreadyCompleted(HoldfastError):
    """Another caller finished the current job of the chain first."""

    def __init__(self, chain_id: str) -> None:
        self.chain_id = chain_id
        super().__init__(f"the current job of chain {chain_id!r} was already finished")


class ScheduleNotFound(HoldfastError, LookupError):
    """No schedule has this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no schedule {name!r}")


class WrongJobType(HoldfastError, TypeError):
    """The current job of the chain has another type than the caller named."""

    def __init__(self, chain_id: str, type: str, wanted: str) -> None:
        self.chain_id = chain_id
        self.type = type
        self.wanted = wanted
        super().__init__(f"the current job of chain {chain_id!r} is of type {type!r}, not {wanted!r}")


class WrongBlockers(HoldfastError, TypeError, ValueError):
    """The chains in `after` are not those that the job type declares with `blockers=`. Nothing was written."""

    def __init__(self, type: str, problem: str) -> None:
        self.type = type
        super().__init__(f"{type}: {problem}")

    @classmethod
    def of_another_type(cls, type: str, chain_id: str, found: str, wanted: str) -> Self:
        """A chain in `after` has another type than the job type declares at this position."""
        return cls(type, f"after= needs a chain of type {wanted!r} here, and chain {chain_id!r} is of type {found!r}")


class LimitNotFound(HoldfastError, LookupError):
    """There is no limit, rate or order with this name: no worker has declared it, and no job used it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no limit {name!r}; a worker that declares it, or a start, adds it to the store")


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
        return cls(job_id, status, "one whose blockers were not deleted: it would wait for ever")

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


class Conflict(HoldfastError):
    """Data that a buffered transaction read changed before its commit. Nothing was written."""


class WaitTimeout(HoldfastError, TimeoutError):
    """The timeout of a wait ended before the chain, or the job of a named queue, finished. The work continues."""

    def __init__(self, id: str, timeout: float, *, subject: str = "chain") -> None:
        self.id = id
        self.chain_id = id
        self.timeout = timeout
        super().__init__(f"{subject} {id!r} was not finished after {timeout:g} s; it goes on, wait again for it")


class StepTimeout(HoldfastError, TimeoutError):
    """A step took longer than its `timeout=`."""

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self.timeout = timeout
        super().__init__(f"step {name!r} took longer than {timeout:g} s")


class MessageTimeout(HoldfastError, TimeoutError):
    """The timeout of a `receive` ended before the message arrived."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no message {name!r} arrived in time")


class _Ended(HoldfastError):
    def __init__(self, id: str, error: ErrorText | None, *, subject: str, verb: str) -> None:
        self.id = id
        self.error = error
        super().__init__(f"{subject} {id!r} {verb}" + (f": {error}" if error else ""))


class ChainFailed(_Ended):
    """The last job of the chain failed. `error` is its text, with `type`, `message` and `traceback`."""

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
    if they are not known. The payload is also None if it cannot be decoded.
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
