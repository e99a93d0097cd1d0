"""The rows of live workers: report, remove, drain, get."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from holdfast.core.worker_record import GONE_AFTER, PRUNED_AFTER, WorkerRecord
from holdfast.engine.operations import DrainWorker, GetWorkers, RemoveWorker, ReportWorker, WorkerReport
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs.audit import write_audit


def report_worker(state: State, op: ReportWorker) -> WorkerReport:
    now = state.now()
    for other in [each for each in state.workers.values() if each.seen_at < now - PRUNED_AFTER]:
        state.drop(state.workers, other.id)
    worker = replace(op.worker, started_at=op.worker.started_at or now, seen_at=now)
    known = state.workers.get(worker.id)
    if known is not None and known.started_at > worker.started_at:
        return WorkerReport(worker.started_at, worker.draining)
    if known is not None and known.started_at == worker.started_at:
        worker = replace(worker, draining=worker.draining or known.draining)
    state.set(state.workers, worker.id, worker)
    return WorkerReport(worker.started_at, worker.draining)


def remove_worker(state: State, op: RemoveWorker) -> None:
    known = state.workers.get(op.worker_id)
    if known is not None and known.started_at == op.started_at:
        state.drop(state.workers, op.worker_id)


def drain_worker(state: State, op: DrainWorker) -> bool:
    known = state.workers.get(op.worker_id)
    if known is None or known.seen_at < state.now() - GONE_AFTER:
        return False
    state.set(state.workers, op.worker_id, replace(known, draining=True))
    state.hints.workers.add(op.worker_id)
    if not known.draining:
        write_audit(state, op.audit, "drain_worker", [(op.worker_id, None)])
    return True


def get_workers(state: State, op: GetWorkers) -> list[WorkerRecord]:
    since = state.now() - GONE_AFTER
    busy = Counter(state.jobs[job_id].worker for job_id in state.running)
    live = [replace(each, busy=busy[each.id]) for each in state.workers.values() if each.seen_at >= since]
    return sorted(live, key=lambda worker: (worker.started_at, worker.id))
