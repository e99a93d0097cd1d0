"""The rows of live workers: report, remove, drain, get. They are in the worker file, beside the file of the store."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import DrainWorker, GetWorkers, RemoveWorker, ReportWorker, WorkerReport
from holdfast.stores.sql.plan import Plan, PlanContext, Statement
from holdfast.stores.sqlite.rows import SQL
from holdfast.stores.sqlite.verbs.audit import write_audit
from holdfast.stores.sqlite.workers.worker_file import NoWorkerFile, WorkerFile

_BUSY = SQL["busy_workers"]


def report_worker(context: PlanContext, operation: ReportWorker) -> Plan[WorkerReport]:
    return (yield from _worker_file()).report(operation, context.now)


def remove_worker(context: PlanContext, operation: RemoveWorker) -> Plan[None]:
    (yield from _worker_file()).remove(operation.worker_id, operation.started_at)


def drain_worker(context: PlanContext, operation: DrainWorker) -> Plan[bool]:
    file = yield from _worker_file()
    draining = any(each.draining for each in file.live(context.now) if each.id == operation.worker_id)
    found = file.drain(operation.worker_id, context.now)
    if found:
        context.hints.workers.add(operation.worker_id)
        if not draining:
            yield from write_audit(context, operation.audit, "drain_worker", [(operation.worker_id, None)])
    return found


def get_workers(context: PlanContext, operation: GetWorkers) -> Plan[list[WorkerRecord]]:
    live = (yield from _worker_file()).live(context.now)
    busy: dict[str, int] = dict((yield Statement(_BUSY))) if live else {}
    return [replace(each, busy=busy.get(each.id, 0)) for each in live]


def _worker_file() -> Plan[WorkerFile]:
    rows = yield Statement("pragma database_list")
    [file] = [file for _, name, file in rows if name == "main"]
    return WorkerFile(Path(file)) if file else NoWorkerFile()
