"""Retry: run failed or cancelled jobs again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.core.blocker_rules import open_after_retry, waits_for_end
from holdfast.core.details import next_epoch
from holdfast.core.record import Record, Status
from holdfast.core.steps import RemovedSteps
from holdfast.engine.operations import RetryJobs
from holdfast.errors import NotPending
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs import blockers, chains, dependencies, steps
from holdfast.stores.sqlite.verbs.audit import write_audit
from holdfast.stores.sqlite.verbs.get import existing, with_status
from holdfast.stores.sqlite.verbs.start import EARLIEST

_BLOCKERS = SQL["blockers"]
_FIND_KEY = SQL["find_key"]
_RETRY = SQL["retry"]
_OPEN_BLOCKERS = SQL["retry_open_blockers"]


def retry(context: PlanContext, operation: RetryJobs) -> Plan[list[Record]]:
    jobs = yield from with_status(operation.job_ids, (Status.FAILED, Status.CANCELLED), "failed or cancelled")
    again = {job.chain_id for job in jobs}
    for number, job in enumerate(jobs):
        if waits_for_end(job.on_blocker_failure):
            jobs[number] = yield from _with_open_blockers(job, again)
        elif job.open_blockers:
            [(open_blockers,)] = yield Statement(_OPEN_BLOCKERS, {"job_id": job.id})
            if job.open_blockers > open_blockers:
                raise NotPending.blocker_deleted(job.id, job.status)
    yield from _check_keys(context, jobs)
    yield from dependencies.check_retried(jobs)
    removed: dict[str, RemovedSteps] = {}
    if operation.from_step is not None:
        for job in jobs:
            removed[job.id] = yield from steps.removed_steps(context, job, operation.from_step)
    for job in {job.id: job for job in jobs}.values():
        status = Status.BLOCKED if job.open_blockers else Status.PENDING
        changes = {"status": status.value, "open_blockers": job.open_blockers, "details": job.details}
        if job.id in removed:
            yield from steps.remove_steps(job, removed[job.id])
            changes["details"] = next_epoch(job.details)
        yield Statement(_RETRY, {"seq": job.seq, "now": context.now, **changes})
        if status is Status.PENDING:
            context.hints.due.add(job.type)
        yield from write_audit(context, operation.audit, "retry", [(job.id, job.chain_id)])
        context.record("retried", job.id, job.chain_id, job.type, 0, job.worker)
    return (yield from existing(operation.job_ids))


def _with_open_blockers(job: Record, retried: set[str]) -> Plan[Record]:
    """The job with the number of blockers that it waits for after the retry. `retried`: chains that run again."""
    named = [chain_id for (chain_id,) in (yield Statement(_BLOCKERS, {"job_id": job.id}))]
    statuses = yield from blockers.statuses(named)
    found = [(id, "pending" if id in retried else statuses[id]) for id in named if id in statuses]
    left = open_after_retry(job.id, job.status, job.on_blocker_failure, job.blockers, found)
    return replace(job, open_blockers=left)


def _check_keys(context: PlanContext, jobs: Sequence[Record]) -> Plan[None]:
    """Raise NotPending if another unfinished chain has the key of a job to retry, or two of these jobs share a key."""
    holders: dict[tuple[str, str], str] = {}
    current = yield from chains.read({job.chain_id for job in jobs})
    for job in jobs:
        first = current[job.chain_id].first
        if first.key is None:
            continue
        scope = {"since": EARLIEST, "exclude": "[]", "scope": "incomplete", "now": context.now}
        rows = yield Statement(_FIND_KEY, {"key": first.key, "type": first.type, **scope})
        holder = holders.setdefault((first.type, first.key), rows[0][0] if rows else first.id)
        if holder != first.id:
            raise NotPending.key_taken(job.id, job.status, holder)
