"""List live workers, and drain one."""

from __future__ import annotations

from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.client_calls import ClientCalls
from holdfast.core.worker_record import LiveWorker, WorkerRecord
from holdfast.engine.operations import DrainWorker, GetWorkers
from holdfast.engine.procedures import Procedure
from holdfast.errors import WorkerNotFound
from holdfast.registry.options import check_text


class WorkerMethods(Capability):
    """Live workers, async."""

    async def workers(self, *, tx: Any = None) -> list[LiveWorker]:
        """The live workers of all processes, in the order of their start. Each reported itself in the last 90 s."""
        return await self._run(_workers(), tx)

    async def drain_worker(self, worker: LiveWorker | str, *, reason: str | None = None) -> None:
        """Let a worker stop as after SIGTERM: it claims no more jobs, and the running ones have its grace period.

        The worker reads this within moments, and after 30 seconds at the latest. WorkerNotFound if no live worker has
        the id.
        """
        await self._run(_drain(self._calls, worker, reason), None)


class SyncWorkerMethods(SyncCapability):
    """Live workers, blocking."""

    def workers(self, *, tx: Any = None) -> list[LiveWorker]:
        """The live workers of all processes, in the order of their start. Each reported itself in the last 90 s."""
        return self._run(_workers(), tx)

    def drain_worker(self, worker: LiveWorker | str, *, reason: str | None = None) -> None:
        """Let a worker stop as after SIGTERM: it claims no more jobs, and the running ones have its grace period.

        The worker reads this within moments, and after 30 seconds at the latest. WorkerNotFound if no live worker has
        the id.
        """
        self._run(_drain(self._calls, worker, reason), None)


def _workers() -> Procedure[list[LiveWorker]]:
    found: list[WorkerRecord] = yield GetWorkers()
    return [LiveWorker(record) for record in found]


def _drain(calls: ClientCalls, worker: LiveWorker | str, reason: str | None) -> Procedure[None]:
    match worker:
        case str():
            check_text("worker", worker)
            worker_id = worker
        case LiveWorker():
            worker_id = worker.id
        case _:  # pyright: ignore[reportUnnecessaryComparison] - callers without a type checker
            raise TypeError(f"a worker is given by its id, or as client.workers() returned it, not as {worker!r:.60}")
    if not (yield DrainWorker(worker_id, audit=calls.audit(reason))):
        raise WorkerNotFound(worker_id)
