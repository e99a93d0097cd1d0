"""The rows of live workers: report, remove, drain, get."""

from __future__ import annotations

from holdfast.core.worker_record import GONE_AFTER, PRUNED_AFTER, WorkerRecord
from holdfast.engine.operations import DrainWorker, GetWorkers, RemoveWorker, ReportWorker, WorkerReport
from holdfast.stores.postgres.plan import Plan
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.rows import SQL
from holdfast.stores.postgres.verbs.audit import write_audit
from holdfast.stores.sql.plan import Statement

_REPORT = SQL["report_worker"]
_REMOVE = SQL["remove_worker"]
_DRAIN = SQL["drain_worker"]
_GET = SQL["get_workers"]


def report_worker(context: PlanContext, op: ReportWorker) -> Plan[WorkerReport]:
    worker = op.worker
    parameters = {
        "now": context.clock,
        "pruned_after": PRUNED_AFTER,
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "types": list(worker.types),
        "concurrency": worker.concurrency,
        "registry": worker.registry,
        "details": worker.details,
        "started_at": worker.started_at,
        "draining": worker.draining,
    }
    ((started_at, draining),) = yield Statement(_REPORT, parameters)
    return WorkerReport(started_at, draining)


def remove_worker(context: PlanContext, op: RemoveWorker) -> Plan[None]:
    yield Statement(_REMOVE, {"id": op.worker_id, "started_at": op.started_at})


def drain_worker(context: PlanContext, op: DrainWorker) -> Plan[bool]:
    yield from context.begin()
    rows = yield Statement(_DRAIN, {"id": op.worker_id, "now": context.clock, "gone_after": GONE_AFTER})
    if rows:
        context.hints.workers.add(op.worker_id)
        if rows != [(True,)]:
            yield from write_audit(context, op.audit, "drain_worker", [(op.worker_id, None)])
    return bool(rows)


def get_workers(context: PlanContext, op: GetWorkers) -> Plan[list[WorkerRecord]]:
    rows = yield Statement(_GET, {"now": context.clock, "gone_after": GONE_AFTER})
    return [WorkerRecord(id, host, pid, tuple(types), *rest) for id, host, pid, types, *rest in rows]
