"""Retry: run failed or cancelled jobs again."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.record import Record, Status
from holdfast.engine.operations import RetryJobs
from holdfast.errors import NotPending
from holdfast.stores.sql.plan import Execution, Plan, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import chains, dependencies
from holdfast.stores.sqlite.verbs.get_jobs import existing, with_status
from holdfast.stores.sqlite.verbs.start import EARLIEST

_FIND_KEY = SQL["find_key"]
_RETRY = SQL["retry"]
_OPEN_BLOCKERS = SQL["retry_open_blockers"]


def retry(execution: Execution, operation: RetryJobs) -> Plan[list[Record]]:
    jobs = yield from with_status(operation.job_ids, (Status.FAILED, Status.CANCELLED), "failed or cancelled")
    for job in jobs:
        if job.open_blockers:
            [(open_blockers,)] = yield Statement(_OPEN_BLOCKERS, {"job_id": job.id})
            if job.open_blockers > open_blockers:
                raise NotPending.blocker_deleted(job.id, job.status)
    yield from _check_keys(execution, jobs)
    yield from dependencies.check_retried(jobs)
    for job in {job.id: job for job in jobs}.values():
        status = Status.BLOCKED if job.open_blockers else Status.PENDING
        yield Statement(_RETRY, {"seq": job.seq, "status": status.value, "now": execution.now})
        if status is Status.PENDING:
            execution.hints.due.add(job.type)
        execution.record("retried", job.id, job.chain_id, job.type, 0, job.worker)
    return (yield from existing(operation.job_ids))


def _check_keys(execution: Execution, jobs: Sequence[Record]) -> Plan[None]:
    """Raise NotPending if another unfinished chain has the key of a job to retry, or two of these jobs share a key."""
    holders: dict[tuple[str, str], str] = {}
    current = yield from chains.read({job.chain_id for job in jobs})
    for job in jobs:
        first = current[job.chain_id].first
        if first.key is None:
            continue
        scope = {"since": EARLIEST, "exclude": "[]", "scope": "incomplete", "now": execution.now}
        rows = yield Statement(_FIND_KEY, {"key": first.key, "type": first.type, **scope})
        holder = holders.setdefault((first.type, first.key), rows[0][0] if rows else first.id)
        if holder != first.id:
            raise NotPending.key_taken(job.id, job.status, holder)
