"""Locks jobs by id for `retry` and `run_now`, and checks their status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.record import Record
from holdfast.errors import DependencyCycle, JobNotFound, NotPending
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.rows import SQL, record
from holdfast.stores.postgres.verbs import dependencies, locks
from holdfast.stores.sql.plan import Statement

_FIND = SQL["find_jobs"]
_AWAIT = SQL["await"]
_RECORDS = SQL["records"]


class LockedJob(NamedTuple):
    """A job whose row is locked."""

    seq: int
    id: str
    chain_id: str
    type: str
    status: str
    attempt: int
    worker: str | None
    open_blockers: int
    started_at: int | None


def lock_jobs(
    execution: Execution,
    ids: Sequence[str],
    statuses: tuple[str, ...],
    *,
    wanted: str,
    blockers: bool,
    keys: Callable[[], Plan[None]] | None = None,
    since: Micros | None = None,
) -> Plan[tuple[dict[str, LockedJob], dict[str, DependencyCycle]]]:
    """Lock the jobs with these ids. Returns them, and the cycles that they would close if they were blocked again.

    All must exist and have one of these statuses; jobs that started after `since` may have any. With `blockers`, no
    transaction deletes their blockers meanwhile, nor later without seeing that these jobs wait for them.
    """
    cycles: dict[str, DependencyCycle] = {}

    def find() -> Plan[tuple[list[LockedJob], locks.Wanted]]:
        nonlocal cycles
        jobs = [LockedJob(*row) for row in (yield Statement(_FIND, {"ids": list(ids), "blockers": blockers}))]
        kept = {job.seq for job in jobs if job.id not in ids}
        blocked_again = {job.id: job.chain_id for job in jobs if job.id in ids and job.open_blockers}
        if blockers and blocked_again:
            cycles, reached = yield from dependencies.retried(blocked_again)
            kept |= reached
        return jobs, locks.Wanted({job.seq for job in jobs if job.id in ids}, kept)

    rows = yield from locks.lock(execution, find, keys=keys)
    if named := [job.seq for job in rows if job.id not in ids]:
        yield Statement(_AWAIT, {"seqs": named})
    found = {job.id: job for job in rows if job.id in ids}
    for job_id in ids:
        if job_id not in found:
            raise JobNotFound(job_id)
    for job_id in ids:
        job = found[job_id]
        started = since is not None and job.started_at is not None and job.started_at >= since
        if job.status not in statuses and not started:
            raise NotPending(job_id, job.status, wanted)
    return found, cycles


def updated_records(execution: Execution, ids: Sequence[str], jobs: dict[str, LockedJob]) -> Plan[list[Record]]:
    """Write the events, and return the records of the jobs after the change."""
    yield from execution.write_events()
    rows = yield Statement(_RECORDS, {"seqs": [job.seq for job in jobs.values()]})
    records = {row[1]: record(row) for row in rows}
    return [records[job_id] for job_id in ids]
