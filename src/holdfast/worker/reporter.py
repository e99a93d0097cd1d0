"""Keeps the row of a worker in the store: written at its start, refreshed twice a minute, deleted at its end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from holdfast.client.schedule_changes import declaration_of
from holdfast.core.defaults import WORKER_REFRESH
from holdfast.core.retry import Retry
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.observers import Observers, log
from holdfast.engine.operations import GetWorkers, RemoveWorker, ReportWorker
from holdfast.engine.store import Store
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError
from holdfast.registry.jobs import Jobs
from holdfast.worker.stagger import Stagger

SECOND_REPORT = 5.0
"""Seconds until the second report. By then, workers that started at the same time find the rows of each other."""


def described(worker_id: str, jobs: Jobs, types: tuple[str, ...], concurrency: int) -> WorkerRecord:
    """The row of a worker of this process before its first report."""
    external = sorted(each.name for each in jobs if each.function is None)
    schedules = {name: declaration_of(each).digest for name, each in jobs.declared_schedules.items()}
    details = {name: value for name, value in (("external", external), ("schedules", schedules)) if value}
    return WorkerRecord(
        worker_id, socket.gethostname(), os.getpid(), types, concurrency,
        registry=jobs.name, details=msgspec.json.encode(details).decode(),
    )  # fmt: skip


class Reporter:
    """Reports a worker to the store, and calls `drain` once if an operator asked it to stop.

    The first report is written while the worker claims its first jobs. An error of the store does not stop the worker:
    the report is repeated. No report wakes another process.
    """

    def __init__(
        self,
        store: Store,
        worker: WorkerRecord,
        observers: Observers,
        recovery: Retry,
        *,
        drain: Callable[[], None],
        stagger: Stagger,
    ) -> None:
        self._store = store
        self._worker = worker
        self._observers = observers
        self._recovery = recovery
        self._drain = drain
        self._stagger = stagger
        self._drained = False
        self._ended = False
        self.reported = asyncio.Event()
        """Set after the first report: from then on, other workers count this one as live."""
        self._wake_flag = WakeFlag()

    def receive(self, hints: Hints) -> None:
        """Report at once if the hints say that an operator drains this worker."""
        if self._worker.id in hints.workers:
            self._wake_flag.set()

    def stopping(self) -> None:
        """Report at once that the worker claims no more jobs."""
        self._drained = True
        self._worker = replace(self._worker, draining=True)
        self._wake_flag.set()

    def end(self) -> None:
        """Let `run` delete the row and return."""
        self._ended = True
        self._wake_flag.set()

    async def run(self) -> None:
        """Report until `end` is called. Then delete the row, after the report that may be in progress."""
        failures, first = 0, True
        while not self._ended:
            delay = SECOND_REPORT if first else WORKER_REFRESH
            try:
                await self._report()
                failures, first = 0, False
            except Exception as error:
                failures += 1
                delay = min(delay, self._recovery.delay(failures))
                self._emit(error)
            await self._wake_flag.wait(delay)
        if self._worker.started_at:
            with suppress(Exception):  # the row is ignored after 90 s in any case
                await self._store.perform(RemoveWorker(self._worker.id, self._worker.started_at))

    async def _report(self) -> None:
        report = await self._store.perform(ReportWorker(self._worker))
        self._worker = replace(self._worker, started_at=report.started_at)
        self.reported.set()
        live = await self._store.perform(GetWorkers())
        self._stagger.learn(live)
        if report.draining and not self._drained:
            self._drained = True
            log.info("worker %s stops: an operator drains it", self._worker.id)
            self._drain()

    def _emit(self, error: Exception) -> None:
        if not isinstance(error, HoldfastError):
            log.exception(
                "worker %s could not report itself: the store raised an error that it did not translate",
                self._worker.id,
            )
        detail = f"reporting the worker: {error}"
        self._observers.emit("store_error", worker=self._worker.id, detail=detail, cause=error)
