"""Limits: write declarations and numbers of operators, report them, and skip failed jobs in orders."""

from __future__ import annotations

from holdfast.core.lanes import LaneFacts
from holdfast.core.record import Record
from holdfast.engine.operations import DeclareLimits, GetLanes, GetLimits, LimitReport, SetLimit, SkipJobs
from holdfast.stores.postgres.execution import Execution
from holdfast.stores.postgres.plan import Commit, Plan
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.postgres.verbs.job_locks import lock_jobs, updated_records
from holdfast.stores.sql.limits import LimitPlans
from holdfast.stores.sql.plan import Statement

_PLANS = LimitPlans(SQL)
_SKIP = SQL["skip"]


def declare_limits(execution: Execution, op: DeclareLimits) -> Plan[None]:
    if not op.limits:
        return
    yield from execution.begin()
    yield from _PLANS.declare(execution, op)
    yield Commit()
    yield from _wake_again(execution, [each.name for each in op.limits])


def set_limit(execution: Execution, op: SetLimit) -> Plan[None]:
    yield from execution.begin()
    yield from _PLANS.set_number(execution, op)
    yield from write_audit(execution, op.audit, op.action, [(op.name, None)])
    yield Commit()
    yield from _wake_again(execution, [op.name])


def get_limits(execution: Execution, op: GetLimits) -> Plan[list[LimitReport]]:
    return (yield from _PLANS.report(execution, op))


def get_lanes(execution: Execution, op: GetLanes) -> Plan[list[LaneFacts]]:
    return (yield from _PLANS.lanes(op))


def skip(execution: Execution, op: SkipJobs) -> Plan[list[Record]]:
    yield from execution.begin()
    jobs, _ = yield from lock_jobs(execution, op.job_ids, ("failed",), wanted="failed", blockers=False)
    yield Statement(_SKIP, {"seqs": [job.seq for job in jobs.values()]})
    execution.hints.due.update(job.type for job in jobs.values())
    yield from write_audit(execution, op.audit, "skip", [(id, jobs[id].chain_id) for id in dict.fromkeys(op.job_ids)])
    return (yield from updated_records(execution, op.job_ids, jobs))


def _wake_again(execution: Execution, names: list[str]) -> Plan[None]:
    """Read the lanes again after the commit: a claim that read the old number may have parked tracks meanwhile."""
    for name in names:
        yield from _PLANS.wake(execution, name)
