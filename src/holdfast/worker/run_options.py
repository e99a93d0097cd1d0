"""The options with which a worker runs each type.

The options of the start take precedence, then those of the type, those of the worker, and the library's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.client.client import Client
from holdfast.client.references import Names, type_names
from holdfast.core.clock import SECOND, duration
from holdfast.core.defaults import MISMATCH_TIMEOUT, RENEWALS_PER_LEASE
from holdfast.core.record import UNLIMITED, Record
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.engine.operations import TypeTerms
from holdfast.errors import UnknownJobType
from holdfast.registry.jobs import AnyJobType, Jobs
from holdfast.registry.options import check_duration, check_renewal

GIVE_UP_AT = 0.9
"""An attempt is aborted after this part of its lease without a renewal, or later if the renew interval is longer."""


class RunOptions(NamedTuple):
    """The options with which a worker runs jobs of one type, computed once."""

    type: AnyJobType
    retry: Retry
    lease: float
    """Seconds."""
    renew_interval: float
    """Seconds after which a lease is renewed; less than the lease."""
    default_timeout: float | None
    mismatch_timeout: float = MISMATCH_TIMEOUT

    @property
    def abort_after(self) -> float:
        """Seconds without a renewal after which an attempt is aborted; less than the lease."""
        return max(self.lease * GIVE_UP_AT, (self.lease + self.renew_interval) / 2)

    def timeout(self, record: Record) -> float | None:
        """How long an attempt of this job may take, in seconds."""
        return self.default_timeout if record.timeout is None else record.timeout / SECOND

    def for_claim(self) -> TypeTerms:
        """The part of the options that a claim needs."""
        limit = self.retry.max_attempts
        return TypeTerms(self.type.name, duration(self.lease), UNLIMITED if limit is None else limit)


@dataclass(frozen=True, slots=True)
class WorkerDefaults:
    """The defaults of a worker, for types that do not set an option themselves."""

    default_retry: Retry
    default_lease: Seconds
    default_renew_interval: Seconds | None
    default_timeout: Seconds | None
    mismatch_timeout: Seconds = MISMATCH_TIMEOUT

    def of(self, job_type: AnyJobType) -> RunOptions:
        lease = self.default_lease if job_type.lease is None else job_type.lease
        timeout = self.default_timeout if job_type.timeout is None else job_type.timeout
        return RunOptions(
            job_type,
            job_type.retry or self.default_retry,
            seconds(lease),
            self._renew_interval(job_type, seconds(lease)),
            None if timeout is None else seconds(timeout),
            seconds(self.mismatch_timeout),
        )

    def _renew_interval(self, job_type: AnyJobType, lease: float) -> float:
        """The renew interval. The worker's interval applies only together with the worker's lease."""
        interval = job_type.renew_interval
        if interval is None and job_type.lease is None:
            interval = self.default_renew_interval
        check_renewal(lease, interval, names=f"job type {job_type.name!r}: ")
        return lease / RENEWALS_PER_LEASE if interval is None else seconds(interval)


def types_to_run(jobs: Jobs, types: Names | None) -> dict[str, AnyJobType]:
    """The job types to run: the named ones, or all that have a handler."""
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


def check_worker(
    client: Client, concurrency: int, lease: Seconds, renew_interval: Seconds | None, timeout: Seconds | None, *,
    zero: Mapping[str, Seconds], **durations: Seconds,
) -> None:  # fmt: skip
    """Refuse wrong arguments of `Worker`. The durations in `zero` may be 0."""
    if not isinstance(client, Client):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
        raise TypeError(f"a worker is given an open Client, not a {type(client).__name__}: Worker(Client(store, jobs))")
    if isinstance(concurrency, bool) or not isinstance(concurrency, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"concurrency must be an int, not {type(concurrency).__name__}")
    if concurrency < 1:
        raise ValueError(f"concurrency must be at least 1, not {concurrency}")
    check_renewal(lease, renew_interval)
    check_duration("timeout", timeout)
    for name, value in durations.items():
        check_duration(name, value)
    for name, value in zero.items():
        check_duration(name, value, zero=True)
