"""Retry failed and cancelled jobs."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.blocker_rules import waits_for_end
from holdfast.core.record import Record
from holdfast.engine.operations import RetryJobs
from holdfast.errors import NotPending
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.postgres.verbs.job_locks import LockedJob, lock_jobs, updated_records
from holdfast.stores.postgres.verbs.steps import remove_steps, removed_steps
from holdfast.stores.sql.plan import Statement

_RETRY = SQL["retry"]
_SET_OPEN = SQL["set_open_blockers"]
_OPEN_BLOCKERS = SQL["retry_open_blockers"]
_KEYS = SQL["retry_keys"]
_LOCK_KEYS = SQL["lock_keys"]
_FIND_KEYS = SQL["find_keys"]


def retry(context: PlanContext, op: RetryJobs) -> Plan[list[Record]]:
    yield from context.begin()
    keyed = yield from _keyed(op.job_ids)
    keys = (lambda: _lock_keys(context, keyed)) if keyed else None
    jobs, cycles = yield from lock_jobs(
        context, op.job_ids, ("failed", "cancelled"), wanted="failed or cancelled", blockers=True, keys=keys
    )
    dependencies = [job.id for job in jobs.values() if job.open_blockers and not waits_for_end(job.rule)]
    counted: dict[str, int] = dict((yield Statement(_OPEN_BLOCKERS, {"ids": dependencies}))) if dependencies else {}
    for job in jobs.values():
        if waits_for_end(job.rule):
            yield Statement(_SET_OPEN, {"seq": job.seq, "open_blockers": job.open_blockers})
        elif job.open_blockers > counted.get(job.id, 0):
            raise NotPending.blocker_deleted(job.id, job.status)
    yield from _check_keys(context, op.job_ids, jobs, keyed)
    for cycle in (cycles[job_id] for job_id in op.job_ids if job_id in cycles):
        raise cycle
    if op.from_step is not None:
        removed = yield from removed_steps(dict.fromkeys(op.job_ids), op.from_step)
        yield from remove_steps({job.id: job.chain_id for job in jobs.values()}, removed)
    yield Statement(_RETRY, {"seqs": [job.seq for job in jobs.values()], "now": context.now})
    for job in jobs.values():
        context.record("retried", job.id, job.chain_id, job.type, 0, job.worker)
        if not job.open_blockers:
            context.hints.due.add(job.type)
    yield from write_audit(context, op.audit, "retry", [(id, jobs[id].chain_id) for id in dict.fromkeys(op.job_ids)])
    return (yield from updated_records(context, op.job_ids, jobs))


def _keyed(ids: Sequence[str]) -> Plan[dict[str, tuple[str, str]]]:
    """Type and key of the chains of these jobs, by chain. Chains without a key are left out."""
    return {chain_id: (type, key) for chain_id, type, key in (yield Statement(_KEYS, {"ids": list(ids)}))}


def _lock_keys(context: PlanContext, keyed: dict[str, tuple[str, str]]) -> Plan[None]:
    """Lock the keys, as a start with these keys does."""
    pairs = sorted(set(keyed.values()))
    types, keys = [type for type, _ in pairs], [key for _, key in pairs]
    yield Statement(_LOCK_KEYS, {"types": types, "keys": keys, "now": context.now})


def _check_keys(
    context: PlanContext, ids: Sequence[str], jobs: dict[str, LockedJob], keyed: dict[str, tuple[str, str]]
) -> Plan[None]:
    """Raises NotPending if another unfinished chain has the same key: a key has one unfinished chain at a time."""
    live: dict[tuple[str, str], str] = {}
    pairs = sorted(set(keyed.values()))
    if pairs:
        count = len(pairs)
        types, keys = [type for type, _ in pairs], [key for _, key in pairs]
        scope = {"sinces": [None] * count, "scopes": ["incomplete"] * count, "excludes": [None] * count}
        rows = yield Statement(_FIND_KEYS, {"now": context.now, "types": types, "keys": keys, **scope})
        live = {pairs[number - 1]: chain_id for number, chain_id in rows}
    for job_id in ids:
        job = jobs[job_id]
        if job.chain_id in keyed:
            holder = live.setdefault(keyed[job.chain_id], job.chain_id)
            if holder != job.chain_id:
                raise NotPending.key_taken(job.id, job.status, holder)
