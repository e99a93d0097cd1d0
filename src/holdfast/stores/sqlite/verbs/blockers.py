"""The end of a chain and the jobs that wait for it: unblock them, fail them or cancel them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.core import failure
from holdfast.core.blocker_rules import NONE_FAILED, WHEN_FAILED, waiting_status, waits_for_end
from holdfast.core.clock import Micros
from holdfast.core.counters import CounterChange, minute_of
from holdfast.core.error_groups import blocker_failed
from holdfast.core.lifecycle import NewJob, create, hook_chain
from holdfast.core.record import Record, Status
from holdfast.stores.sql.plan import Many, Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL, as_json, record
from holdfast.stores.sqlite.verbs import insert

_GET_JOBS = SQL["get_jobs"]
_BLOCKERS = SQL["blockers"]
_STATUSES = SQL["chain_statuses"]
_TYPES = SQL["chain_types"]
_WAITING_FOR = SQL["waiting_for"]
_DEPENDENTS = SQL["dependents"]
_UNBLOCK = SQL["unblock"]
_BROKEN_DEPENDENTS = SQL["broken_dependents"]
_CANCEL = SQL["cancel_blocked"]
_FAIL = SQL["fail_blocked"]

Unblocked = list[tuple[str, str]]
"""(id, type) of the jobs that became pending."""


class _Dependent(NamedTuple):
    """The columns of `dependents`, in its order."""

    seq: int
    id: str
    type: str
    chain_id: str
    status: str
    open_blockers: int
    scheduled_at: Micros
    attempt: int
    worker: str | None
    rule: str
    has_details: bool


def completed(context: PlanContext, chain_ids: Sequence[str]) -> Plan[dict[str, Unblocked]]:
    """Chains completed: decrement `open_blockers` of their dependents. Returns those that are no longer blocked.

    A dependent is returned with the last of its chains, in the order given.
    """
    ended: dict[str, list[str]] = {}
    for chain_id, job_id in (yield Statement(_WAITING_FOR, {"chains": as_json(chain_ids)})):
        ended.setdefault(job_id, []).append(chain_id)
    unblocked: dict[str, Unblocked] = {}
    if not ended:
        return unblocked
    jobs = [_Dependent(*row) for row in (yield Statement(_DEPENDENTS, {"ids": as_json(ended)}))]
    changes: list[dict[str, object]] = []
    for job in jobs:
        if waits_for_end(job.rule):
            continue
        status, scheduled_at, left = job.status, job.scheduled_at, job.open_blockers - len(ended[job.id])
        if left == 0 and status == "blocked":
            status, scheduled_at = "pending", max(scheduled_at, context.now)
            _record_unblocked(context, job, unblocked.setdefault(ended[job.id][-1], []))
        changes.append({"seq": job.seq, "status": status, "open_blockers": left, "scheduled_at": scheduled_at})
    if changes:
        yield Many(_UNBLOCK, changes)
    if len(changes) == len(jobs):
        return unblocked
    broken_chains: dict[str, list[str]] = {}
    for job in jobs:
        if waits_for_end(job.rule):
            chains = ended[job.id]
            became_pending, ends = unblocked.setdefault(chains[-1], []), broken_chains.setdefault(chains[-1], [])
            yield from _count_end(context, job, became_pending, ends, ended=len(set(chains)))
    # After all of them are counted: a chain that ends with one of these jobs may block another one.
    for chain_id in chain_ids:
        yield from _break(context, broken_chains.get(chain_id, []), unblocked.get(chain_id, []))
    return unblocked


def broken(context: PlanContext, chain_id: str) -> Plan[Unblocked]:
    """A chain failed or was cancelled: update its dependents that do not wait for completions only, and theirs in turn.

    Returns those that became pending.
    """
    unblocked: Unblocked = []
    yield from _break(context, [chain_id], unblocked)
    return unblocked


def _break(context: PlanContext, chains: list[str], unblocked: Unblocked) -> Plan[None]:
    while chains:
        chain_id = chains.pop()
        jobs = [_Dependent(*row) for row in (yield Statement(_BROKEN_DEPENDENTS, {"chain_id": chain_id}))]
        failing = [job for job in jobs if job.rule == "fail"]
        if failing:
            yield Many(_FAIL, [_failure(context, job.id, job.type, chain_id) for job in failing])
        for job in failing:
            context.hints.finished.add(job.chain_id)
            context.record("failed", job.id, job.chain_id, job.type, job.attempt, job.worker)
            chains.append(job.chain_id)
            if job.has_details:
                (row,) = yield Statement(_GET_JOBS, {"ids": as_json([job.id])})
                yield from start_hook(context, record(row))
        for job in jobs:
            if job.rule == WHEN_FAILED:
                yield from _unblock(context, job, unblocked)
            elif waits_for_end(job.rule):
                yield from _count_end(context, job, unblocked, chains)


def _count_end(
    context: PlanContext, job: _Dependent, unblocked: Unblocked, broken_chains: list[str], *, ended: int = 1
) -> Plan[None]:
    """Blockers of a job with `when=` ended. Read all its blockers if none seems to be open."""
    if job.status != "blocked":
        return
    status, left = Status.BLOCKED, job.open_blockers - ended
    if left <= 0:
        named = [chain_id for (chain_id,) in (yield Statement(_BLOCKERS, {"job_id": job.id}))]
        status, left = waiting_status(job.rule, (yield from statuses(named)).values())
    if status is Status.PENDING:
        yield from _unblock(context, job, unblocked)
    elif status is Status.CANCELLED:
        yield from cancel_waiting(context, job.id, job.chain_id, job.type)
        broken_chains.append(job.chain_id)
    else:
        yield Statement(
            _UNBLOCK, {"seq": job.seq, "status": "blocked", "open_blockers": left, "scheduled_at": job.scheduled_at}
        )


def _unblock(context: PlanContext, job: _Dependent, unblocked: Unblocked) -> Plan[None]:
    due = max(job.scheduled_at, context.now)
    yield Statement(_UNBLOCK, {"seq": job.seq, "status": "pending", "open_blockers": 0, "scheduled_at": due})
    _record_unblocked(context, job, unblocked)


def _record_unblocked(context: PlanContext, job: _Dependent, unblocked: Unblocked) -> None:
    unblocked.append((job.id, job.type))
    context.hints.due.add(job.type)
    context.record("unblocked", job.id, job.chain_id, job.type, job.attempt, job.worker)


def cancel_waiting(context: PlanContext, id: str, chain_id: str, type: str) -> Plan[None]:
    """Cancel a job that waited for a failure, because all its blockers completed."""
    yield Statement(_CANCEL, {"id": id, "error": NONE_FAILED, "now": context.now})
    context.hints.finished.add(chain_id)
    context.record("cancelled", id, chain_id, type, 0)
    context.count(CounterChange(type, minute_of(context.now), "cancelled", 1))


def statuses(chain_ids: Iterable[str]) -> Plan[dict[str, str]]:
    """The statuses of these chains, by id. Chains that do not exist are left out."""
    return dict((yield Statement(_STATUSES, {"ids": as_json(chain_ids)})))


def types(chain_ids: Iterable[str]) -> Plan[dict[str, str]]:
    """The types of these chains, by id. Chains that do not exist are left out."""
    return dict((yield Statement(_TYPES, {"ids": as_json(chain_ids)})))


def fail_with(context: PlanContext, job: NewJob, chain_id: str) -> Plan[None]:
    """Fail a new job because one of its blockers did not complete."""
    yield Statement(_FAIL, _failure(context, job.id, job.type, chain_id))
    context.hints.finished.add(job.chain_id)
    context.record("failed", job.id, job.chain_id, job.type, 0)
    yield from start_hook(context, replace(create(job), error=_broken(chain_id)))


def start_hook(context: PlanContext, failed: Record) -> Plan[None]:
    """Start the failure hook of a job that failed, if it has one."""
    hook = hook_chain(failed)
    if hook is not None:
        seq = (yield from insert.last_seq()) + 1
        yield from insert.add_one(context, hook, insert.row(context, hook, seq))


def _failure(context: PlanContext, job_id: str, type: str, chain_id: str) -> dict[str, object]:
    """The parameters of a failure, which is counted."""
    group = blocker_failed(type)
    context.count(CounterChange(type, minute_of(context.now), "failed", 1, at=context.now), job_id, group)
    return {"id": job_id, "error": _broken(chain_id), "fingerprint": group.fingerprint, "now": context.now}


def _broken(chain_id: str) -> bytes:
    return failure.write("BlockerFailed", f"chain {chain_id}, which this job waited for, did not complete")
