"""Limits: write declarations and numbers of operators, report them, and skip failed jobs in orders."""

from __future__ import annotations

from holdfast.core.lanes import LaneFacts
from holdfast.core.record import Record, Status
from holdfast.engine.operations import DeclareLimits, GetLanes, GetLimits, LimitReport, SetLimit, SkipJobs
from holdfast.stores.sql.lane_releases import announce_releases
from holdfast.stores.sql.limits import LimitPlans
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs.audit import write_audit
from holdfast.stores.sqlite.verbs.get import with_status

_PLANS = LimitPlans(SQL)
_HELD = SQL["skip_held"]
_SKIP_CHANGE = SQL["skip_change"]
_SKIP = SQL["skip"]


def declare_limits(context: PlanContext, operation: DeclareLimits) -> Plan[None]:
    yield from _PLANS.declare(context, operation)


def set_limit(context: PlanContext, operation: SetLimit) -> Plan[None]:
    if (yield from _PLANS.set_number(context, operation)):
        yield from write_audit(context, operation.audit, operation.action, [(operation.name, None)])


def get_limits(context: PlanContext, operation: GetLimits) -> Plan[list[LimitReport]]:
    return (yield from _PLANS.report(context, operation))


def get_lanes(context: PlanContext, operation: GetLanes) -> Plan[list[LaneFacts]]:
    return (yield from _PLANS.lanes(operation))


def skip(context: PlanContext, operation: SkipJobs) -> Plan[list[Record]]:
    jobs = yield from with_status(operation.job_ids, (Status.FAILED,), "failed")
    skipped: dict[str, str | None] = {}
    for job in dict.fromkeys(jobs):
        place = {"chain_id": job.chain_id, "seq": job.seq}
        ((held,),) = yield Statement(_HELD, place)
        if held:
            skipped[job.id] = job.chain_id
            yield Statement(_SKIP_CHANGE, {"chain_id": job.chain_id})
            yield Statement(_SKIP, place)
    yield from announce_releases(context, SQL)
    yield from write_audit(context, operation.audit, "skip", list(skipped.items()))
    return jobs
