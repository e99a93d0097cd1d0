"""Errors about a job, chain, step, schedule, limit, worker or job type that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.error_types.holdfast_error import HoldfastError


class UnknownJobType(HoldfastError, LookupError):
    """The registry does not contain this job type."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        self.name = name
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"unknown job type {name!r} (declared here: {names})")


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


class ScheduleNotFound(HoldfastError, LookupError):
    """No schedule has this name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no schedule {name!r}")


class LimitNotFound(HoldfastError, LookupError):
    """There is no limit, rate or order with this name: no worker has declared it, and no job used it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no limit {name!r}; a worker that declares it, or a start, adds it to the store")
