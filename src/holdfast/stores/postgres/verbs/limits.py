"""Limits: write declarations and numbers of operators, report them, and skip failed jobs in orders."""

from __future__ import annotations

from holdfast.core.lanes import LaneFacts
from holdfast.core.record import Record
from holdfast.engine.operations import DeclareLimits, GetLanes, GetLimits, LimitReport, SetLimit, SkipJobs
from holdfast.stores.postgres.plan import Commit, Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.postgres.verbs.job_locks import lock_jobs, updated_records
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.limits import LimitPlans
from holdfast.stores.sql.plan import Statement

_PLANS = LimitPlans(SQL)
_SKIP = SQL["skip"]


def declare_limits(context: PlanContext, op: DeclareLimits) -> Plan[None]:
    if not op.limits:
        return
    yield from context.begin()
    yield from _PLANS.declare(context, op)
    yield Commit()
    yield from _wake_again(context, [each.name for each in op.limits])


def set_limit(context: PlanContext, op: SetLimit) -> Plan[None]:
    yield from context.begin()
    if (yield from _PLANS.set_number(context, op)):
        yield from write_audit(context, op.audit, op.action, [(op.name, None)])
    yield Commit()
    yield from _wake_again(context, [op.name])


def get_limits(context: PlanContext, op: GetLimits) -> Plan[list[LimitReport]]:
    return (yield from _PLANS.report(context, op))


def get_lanes(context: PlanContext, op: GetLanes) -> Plan[list[LaneFacts]]:
    return (yield from _PLANS.lanes(op))


def skip(context: PlanContext, op: SkipJobs) -> Plan[list[Record]]:
    yield from context.begin()
    jobs, _ = yield from lock_jobs(context, op.job_ids, ("failed",), wanted="failed", blockers=False)
    skipped = {id for (id,) in (yield Statement(_SKIP, {"seqs": [job.seq for job in jobs.values()]}))}
    yield from announce_releases(context, SQL)
    entries = [(id, jobs[id].chain_id) for id in dict.fromkeys(op.job_ids) if id in skipped]
    yield from write_audit(context, op.audit, "skip", entries)
    return (yield from updated_records(context, op.job_ids, jobs))


def _wake_again(context: PlanContext, names: list[str]) -> Plan[None]:
    """Let claims read the lanes again after the commit: a claim that read the old number may have parked tracks."""
    for name in names:
        yield from _PLANS.wake(context, name)
