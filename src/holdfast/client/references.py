"""Reads the arguments that name chains, jobs, types and statuses: objects or strings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.core.clock import Micros, to_micros
from holdfast.core.job import Chain, Job
from holdfast.core.record import Record, Status
from holdfast.engine.operations import Filter, GetChains
from holdfast.engine.procedures import Procedure
from holdfast.errors import WrongJobType
from holdfast.registry.jobs import AnyJobType, JobType
from holdfast.registry.options import check_text

Names = str | AnyJobType | Iterable[str | AnyJobType]
Statuses = str | Iterable[str]


def chain_id(chain: Chain[Any] | Job | str) -> str:
    """The id of a chain, given a chain, one of its jobs, or the id itself."""
    match chain:
        case str():
            return _named("chain", chain)
        case Job():
            return chain.chain_id
        case Chain():
            return chain.id
        case _:  # pyright: ignore[reportUnnecessaryComparison] - callers without a type checker
            raise TypeError(f"a chain is given as a Chain, a Job of it, or its id, not as {type(chain).__name__}")


def job_id(job: Job | str) -> str:
    """The id of a job, given the job or the id itself."""
    match job:
        case str():
            return _named("job", job)
        case Job():
            return job.id
        case _:  # pyright: ignore[reportUnnecessaryComparison] - callers without a type checker
            raise TypeError(f"a job is given as a Job or by its id, not as {type(job).__name__}")


def current_job_id(subject: Job | Chain[Any] | str) -> Procedure[str]:
    """The id of the job that is meant. A chain's id, which is that of its first job, stands for the current job."""
    if isinstance(subject, Job):
        return subject.id
    identifier = subject.id if isinstance(subject, Chain) else job_id(subject)
    (chain,) = yield GetChains((identifier,))
    return identifier if chain is None else chain.last.id


def _named(what: str, text: str) -> str:
    """The text, checked. ValueError for text that no store can contain: it is a mistake, and not an unknown id."""
    check_text(what, text)
    return text


def type_names(names: Names | None) -> tuple[str, ...]:
    """Names of job types, given names or job types, one or several."""
    if names is None:
        return ()
    if isinstance(names, str | JobType):
        names = [names]
    return tuple(_named("type", name) if isinstance(name, str) else name.name for name in names)


class Target(NamedTuple):
    """A chain to complete."""

    chain_id: str
    chain_type: str | None
    """The type of its first job, if the caller passed a chain."""
    required_type: str | None
    """The type that its current job must have, if the caller passed one."""

    @classmethod
    def of(cls, chain: Chain[Any] | Job | str, type: str | AnyJobType | None) -> Target:
        """The target of a call of `completing`."""
        (required,) = (None,) if type is None else type_names(type)
        return cls(chain_id(chain), chain.type if isinstance(chain, Chain) else None, required)

    def check(self, current: Record) -> None:
        """WrongJobType if the chain's current job does not have the required type."""
        if self.required_type is not None and current.type != self.required_type:
            raise WrongJobType(self.chain_id, current.type, self.required_type)


def listing_filter(
    *,
    status: Statuses | None = None,
    type: Names | None = None,
    chain_type: Names | None = None,
    chain: Chain[Any] | Job | str | None = None,
    key: str | None = None,
    created_since: datetime | None = None,
    created_until: datetime | None = None,
    failed_since: datetime | None = None,
    finished_since: datetime | None = None,
    error: str | None = None,
    worker: str | None = None,
    fingerprint: str | None = None,
) -> Filter:
    """The filter of a listing. Status "scheduled" means pending, and due later."""
    statuses = () if status is None else (status,) if isinstance(status, str) else tuple(status)
    scheduled = "scheduled" in statuses
    if scheduled and len(statuses) > 1:
        raise ValueError('status="scheduled" stands alone: list the others separately')
    return Filter(
        statuses=() if scheduled else tuple(_status(each) for each in statuses),
        scheduled=scheduled or None,
        types=type_names(type),
        chain_types=type_names(chain_type),
        chain_id=None if chain is None else chain_id(chain),
        key=None if key is None else check_key(key),
        created_since=_micros(created_since),
        created_until=_micros(created_until),
        failed_since=_micros(failed_since),
        finished_since=_micros(finished_since),
        error=None if error is None else _named("error", error),
        worker=None if worker is None else _named("worker", worker),
        fingerprint=None if fingerprint is None else _named("fingerprint", fingerprint),
    )


def check_key(key: str) -> str:
    """The key of a chain, checked."""
    return _named("key", key)


def _micros(moment: datetime | None) -> Micros | None:
    return None if moment is None else to_micros(moment)


def _status(name: str) -> Status:
    try:
        return Status(name)
    except ValueError:
        names = ", ".join([*Status, "scheduled"])
        raise ValueError(f"{name!r} is no status; the statuses are {names}") from None
