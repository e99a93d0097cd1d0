"""The instruments: sent and consumed messages, durations, and the backlog of the store."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from holdfast.contrib.otel import conventions as names
from holdfast.core.clock import SECOND, system_clock
from holdfast.core.job import Job
from holdfast.engine.operations import GetStats, TypeStats
from holdfast.registry.plugin import StartingJob

if TYPE_CHECKING:
    from holdfast.engine.events import Event
    from holdfast.worker.worker import Worker

_ENDS = frozenset({"completed", "continued", "retrying", "rescheduled", "released", "failed", "cancelled", "lost"})
_MAX_EXPECTED = 10_000


def attributes(operation: str, type: str | None, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What every span and every measurement of an operation has."""
    about: dict[str, Any] = {names.SYSTEM: "holdfast", names.OPERATION_NAME: operation, names.OPERATION_TYPE: operation}
    if type is not None:
        about[names.DESTINATION] = type
    return {**about, **(more or {})}


class Instruments:
    """The metrics of one plugin."""

    def __init__(self, meter: Meter) -> None:
        self._sent = meter.create_counter(
            names.SENT_MESSAGES, "{message}", "Jobs that were created, counted after the commit."
        )
        self._consumed = meter.create_counter(names.CONSUMED_MESSAGES, "{message}", "Attempts that were begun.")
        self._operation = meter.create_histogram(
            names.OPERATION_DURATION, "s", "Duration of the calls that create jobs."
        )
        self._process = meter.create_histogram(names.PROCESS_DURATION, "s", "Duration of attempts.")
        self._wait = meter.create_histogram(
            names.WAIT_DURATION, "s", "Time between the due time of a job and the start of its attempt."
        )
        meter.create_observable_gauge(
            names.BACKLOG, [self._observe_backlog], "{job}", "Jobs of the store by type and status."
        )
        meter.create_observable_gauge(
            names.OLDEST_DUE, [self._observe_oldest], "s", "Age of the oldest due job by type."
        )
        self._workers: list[Worker] = []
        self._expected: dict[str, str] = {}
        """The type of the continuation that an attempt of this chain has returned, until its settlement is known."""
        self._lock = Lock()

    # Starts

    def sent_after(self, seconds: float, about: Mapping[str, Any], error: BaseException | None) -> None:
        self._operation.record(seconds, _with_error(_measured(about), error))

    def expect_continuation(self, job: StartingJob) -> None:
        """Count this continuation when the attempt that returned it is settled."""
        with self._lock:
            if len(self._expected) >= _MAX_EXPECTED:
                self._expected.clear()
            self._expected[job.chain_id] = job.type

    def wants(self, kind: str) -> bool:
        return kind == "created" or kind in _ENDS

    def observe(self, event: Event) -> None:
        if event.kind == "created":
            self._sent.add(1, attributes("send", event.type))
        elif event.kind in _ENDS and event.chain_id in self._expected:
            with self._lock:
                type = self._expected.pop(event.chain_id, None)
            if event.kind == "continued" and type is not None:
                self._sent.add(1, attributes("send", type))

    # Attempts

    def processed(self, job: Job, seconds: float, error: BaseException | None) -> None:
        about = _with_error(attributes("process", job.type), error)
        self._consumed.add(1, about)
        self._process.record(seconds, about)
        if job.started_at is not None and job.scheduled_at is not None:
            waited = (job.started_at - job.scheduled_at).total_seconds()
            self._wait.record(max(waited, 0.0), attributes("process", job.type))

    # The backlog

    @contextmanager
    def backlog_of(self, worker: Worker) -> Generator[None]:
        """Report the backlog of the worker's store meanwhile."""
        self._workers.append(worker)
        try:
            yield
        finally:
            self._workers.remove(worker)

    def _observe_backlog(self, options: CallbackOptions) -> Iterable[Observation]:
        for stats in self._read(options):
            about = {names.SYSTEM: "holdfast", names.DESTINATION: stats.type}
            for status, number in stats.counts.items():
                if not status.finished:
                    yield Observation(number, {**about, names.STATUS: str(status)})
            yield Observation(stats.due, {**about, names.STATUS: "due"})

    def _observe_oldest(self, options: CallbackOptions) -> Iterable[Observation]:
        for stats in self._read(options):
            if stats.oldest_due is not None:
                age = max(self._now() - stats.oldest_due, 0) / SECOND
                yield Observation(age, {names.SYSTEM: "holdfast", names.DESTINATION: stats.type})

    def _read(self, options: CallbackOptions) -> list[TypeStats]:
        """Read the store of one worker, in the thread of the exporter. Its workers share one store."""
        workers = self._workers[:1]
        return workers[0].client.store.perform_sync(GetStats(may_lag=True)) if workers else []

    def _now(self) -> int:
        workers = self._workers[:1]
        clock = workers[0].client.store.clock if workers else None
        return (clock or system_clock)()


def _measured(about: Mapping[str, Any]) -> dict[str, Any]:
    """Without what has too many values for a metric."""
    kept = (names.SYSTEM, names.OPERATION_NAME, names.OPERATION_TYPE, names.DESTINATION)
    return {name: about[name] for name in kept if name in about}


def _with_error(about: Mapping[str, Any], error: BaseException | None) -> dict[str, Any]:
    return {**about} if error is None else {**about, names.ERROR_TYPE: type(error).__qualname__}
