"""The rows of live workers: report, remove, drain, get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.core.worker_record import GONE_AFTER, PRUNED_AFTER, WorkerRecord
from holdfast.engine import operations as ops
from holdfast.stores.redis.verbs.audit import author
from holdfast.stores.redis.verbs.script_call import BATCH_SIZE, PIPELINED, ScriptCall, ScriptPlan

_row = msgspec.json.Decoder(WorkerRecord).decode


def report_worker(op: ops.ReportWorker) -> ScriptPlan[ops.WorkerReport]:
    worker = op.worker
    row = msgspec.json.encode(worker).decode()
    body = (worker.id, worker.started_at, worker.draining, row, PRUNED_AFTER)
    ((started_at, draining),) = yield [ScriptCall("report_worker", body)]
    return ops.WorkerReport(int(started_at), bool(draining))


def remove_worker(op: ops.RemoveWorker) -> ScriptPlan[None]:
    yield [ScriptCall("remove_worker", (op.worker_id, op.started_at))]


def drain_worker(op: ops.DrainWorker) -> ScriptPlan[bool]:
    (reply,) = yield [ScriptCall("drain_worker", (op.worker_id, GONE_AFTER, author(op.audit)))]
    return bool(reply)


def get_workers(op: ops.GetWorkers) -> ScriptPlan[list[WorkerRecord]]:
    found: dict[str, WorkerRecord] = {}
    skipped = 0
    while True:
        (reply,) = yield [ScriptCall("get_workers", (GONE_AFTER, skipped, BATCH_SIZE))]
        rows = list(_workers(reply))
        found.update((each.id, each) for each in rows)
        skipped += len(rows)
        if len(rows) < BATCH_SIZE:
            break
    busy = yield from _busy(sorted({type for worker in found.values() for type in worker.types}))
    live = [replace(each, busy=busy[each.id]) for each in found.values()]
    return sorted(live, key=lambda worker: (worker.started_at, worker.id))


def _busy(types: Sequence[str]) -> ScriptPlan[Counter[str]]:
    """The number of jobs of these types that each worker runs."""
    worker_of: dict[bytes, str] = {}
    cursors = dict.fromkeys(types, "0")
    while cursors:
        asked = list(cursors)[:PIPELINED]
        replies = yield [ScriptCall("busy", (type, cursors[type])) for type in asked]
        for type, (cursor, *rest) in zip(asked, replies, strict=True):
            worker_of.update((job_id, worker.decode()) for worker, job_id in zip(rest[::2], rest[1::2], strict=True))
            cursors[type] = cursor.decode()
            if cursors[type] == "0":
                del cursors[type]
    return Counter(worker_of.values())


def _workers(reply: Sequence[Any]) -> Iterable[WorkerRecord]:
    values = iter(reply)
    for started_at, seen_at, draining, row in zip(values, values, values, values, strict=True):
        yield replace(_row(row), started_at=int(started_at), seen_at=int(float(seen_at)), draining=bool(draining))
