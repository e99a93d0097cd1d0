"""Locks jobs by id for `retry` and `run_now`, and checks their status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from holdfast.core.blocker_rules import open_after_retry, waits_for_end
from holdfast.core.clock import Micros
from holdfast.core.record import Record
from holdfast.errors import DependencyCycle, JobNotFound, NotPending
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL, by_id
from holdfast.stores.postgres.verbs import chains, dependencies, locks
from holdfast.stores.sql.plan import Statement

_FIND = SQL["find_jobs"]
_NAMED_BY = SQL["named_by"]
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
    rule: str
    blockers: int


def lock_jobs(
    context: PlanContext,
    ids: Sequence[str],
    statuses: tuple[str, ...],
    *,
    wanted: str,
    blockers: bool,
    keys: Callable[[], Plan[None]] | None = None,
    since: Micros | None = None,
) -> Plan[tuple[dict[str, LockedJob], dict[str, DependencyCycle]]]:
    """Lock the jobs with these ids. Returns them, and the cycles that they would close if they were blocked again.

    All jobs must exist and have one of these statuses; jobs that started after `since` may have any status. With
    `blockers`, the blockers of the jobs are locked too. No transaction deletes them meanwhile, and a later deletion
    sees that these jobs wait for them.
    """
    cycles: dict[str, DependencyCycle] = {}
    refused: dict[str, NotPending] = {}

    def find() -> Plan[tuple[list[LockedJob], locks.Wanted]]:
        nonlocal cycles
        jobs = [LockedJob(*row) for row in (yield Statement(_FIND, {"ids": list(ids), "blockers": blockers}))]
        kept = {job.seq for job in jobs if job.id not in ids}
        if blockers and any(job.id in ids and waits_for_end(job.rule) for job in jobs):
            refused.clear()
            jobs, tails = yield from _with_open_blockers(jobs, ids, refused)
            kept |= tails
        blocked_again = {job.id: job.chain_id for job in jobs if job.id in ids and job.open_blockers}
        if blockers and blocked_again:
            cycles, reached = yield from dependencies.retried(blocked_again)
            kept |= reached
        return jobs, locks.Wanted({job.seq for job in jobs if job.id in ids}, kept)

    rows = yield from locks.lock(context, find, keys=keys)
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
    for job_id in ids:
        if job_id in refused:
            raise refused[job_id]
    return found, cycles


def _with_open_blockers(
    jobs: list[LockedJob], ids: Sequence[str], refused: dict[str, NotPending]
) -> Plan[tuple[list[LockedJob], set[int]]]:
    """The jobs, and other jobs to lock. Jobs with `when=` have the number of open blockers after a retry.

    The last jobs of their blockers must be locked: a blocker that ends later sees that these jobs wait for it.
    """
    waiting = [job.id for job in jobs if job.id in ids and waits_for_end(job.rule)]
    named: dict[str, list[str]] = {job_id: [] for job_id in waiting}
    for job_id, chain_id in (yield Statement(_NAMED_BY, {"ids": waiting})):
        named[job_id].append(chain_id)
    tails = yield from chains.tails({chain_id for after in named.values() for chain_id in after})
    retried = {job.chain_id for job in jobs if job.id in ids}
    statuses = {id: "pending" if id in retried else tail.status for id, tail in tails.items()}
    changed: list[LockedJob] = []
    for job in jobs:
        if job.id in named and job.status in ("failed", "cancelled"):
            found = [(id, statuses[id]) for id in named[job.id] if id in statuses]
            try:
                left = open_after_retry(job.id, job.status, job.rule, job.blockers, found)
            except NotPending as error:
                left, refused[job.id] = 0, error
            changed.append(job._replace(open_blockers=left))
        else:
            changed.append(job)
    return changed, {tail.seq for tail in tails.values()}


def updated_records(context: PlanContext, ids: Sequence[str], jobs: dict[str, LockedJob]) -> Plan[list[Record]]:
    """Write the events, and return the records of the jobs after the change."""
    yield from context.write_events()
    rows = yield Statement(_RECORDS, {"seqs": [job.seq for job in jobs.values()]})
    records = by_id(rows)
    return [records[job_id] for job_id in ids]
