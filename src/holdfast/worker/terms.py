"""On what terms a worker runs its types: the start's options first, then the type's, the worker's, the library's."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.calls import Names, type_names
from holdfast.clock import SECOND, duration
from holdfast.errors import UnknownJobType
from holdfast.job import FOR_EVER, Record
from holdfast.jobs import AnyJobType, Jobs
from holdfast.operations import TypeTerms
from holdfast.retry import Retry, Seconds, seconds


@dataclass(frozen=True, slots=True)
class Terms:
    """A worker's defaults."""

    default_retry: Retry
    default_lease: Seconds
    default_timeout: Seconds | None

    def retry(self, job_type: AnyJobType) -> Retry:
        return job_type.retry or self.default_retry

    def lease(self, job_type: AnyJobType) -> float:
        return seconds(self.default_lease if job_type.lease is None else job_type.lease)

    def timeout(self, job_type: AnyJobType, record: Record) -> float | None:
        if record.timeout is not None:
            return record.timeout / SECOND
        timeout = self.default_timeout if job_type.timeout is None else job_type.timeout
        return None if timeout is None else seconds(timeout)

    def of(self, job_type: AnyJobType) -> TypeTerms:
        """What a claim of this type needs to know."""
        limit = self.retry(job_type).max_attempts
        return TypeTerms(job_type.name, duration(self.lease(job_type)), FOR_EVER if limit is None else limit)


def chosen(jobs: Jobs, types: Names | None) -> dict[str, AnyJobType]:
    """The job types to run: those named, or every one that has a handler."""
    if types is None:
        types = [job_type for job_type in jobs if job_type.function is not None]
    names = type_names(types)
    if not names:
        raise ValueError("there is nothing to run: no job type of this client has a handler, or none was named")
    for name in names:
        if (job_type := jobs.get(name)) is None:
            raise UnknownJobType(name, (each.name for each in jobs))
        if job_type.function is None:
            raise ValueError(f"job type {name!r} is only declared here; attach its handler first")
    return {name: jobs[name] for name in names}
