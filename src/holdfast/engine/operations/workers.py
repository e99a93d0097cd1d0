"""Operations on the rows of live workers. None of them sends a wake-up about jobs, so none starts a claim."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.clock import Micros
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations.audit import Audit
from holdfast.engine.operations.operation import Operation


class WorkerReport(NamedTuple):
    """The result of a report."""

    started_at: Micros
    """The worker passes it in its later reports and in its removal."""
    draining: bool
    """An operator asked the worker to stop, or it reported so itself."""


class ReportWorker(Operation[WorkerReport], frozen=True):
    """Write or refresh the row of a worker. Its `seen_at` becomes the time of the store.

    A report with `started_at` 0 is the first one. A row of an earlier worker with the same id is replaced. A row of a
    later worker with this id does not change. A row that was pruned meanwhile is created again. Rows of workers that
    were gone for `PRUNED_AFTER` are deleted. No wake-up is sent.
    """

    verb: ClassVar = "report_worker"
    worker: WorkerRecord


class RemoveWorker(Operation[None], frozen=True):
    """Delete the row of a worker that stops. The row of another worker with the same id stays."""

    verb: ClassVar = "remove_worker"
    worker_id: str
    started_at: Micros


class DrainWorker(Operation[bool], frozen=True):
    """Ask a live worker to stop. Returns False if no live worker has this id.

    The worker reads the flag at its next report. The hint that this operation sends causes the report at once.
    """

    verb: ClassVar = "drain_worker"
    worker_id: str
    audit: Audit | None = None


class GetWorkers(Operation[list[WorkerRecord]], frozen=True):
    """The live workers with the number of jobs that each runs, in the order of their start.

    A worker without a report for `GONE_AFTER` is left out.
    """

    verb: ClassVar = "get_workers"
    writes: ClassVar = False
