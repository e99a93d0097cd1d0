"""The plugin: what the workers of one process do."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from holdfast.core.clock import SECOND
from holdfast.core.counters import BOUNDS
from holdfast.engine.attempt_tally import OUTCOMES, ended_attempt
from holdfast.registry.plugin import Plugin

if TYPE_CHECKING:
    from holdfast.engine.events import Event

ATTEMPTS, ATTEMPTS_TEXT = "holdfast_worker_attempts", "Attempts that ended."
RUNS, RUNS_TEXT = "holdfast_worker_run_seconds", "Time from claimed to settled."
WAITS, WAITS_TEXT = "holdfast_worker_wait_seconds", "Time from due to claimed."

_COUNTED: Final = "_holdfast_prometheus"
"""An entry in `vars(event)`: the metrics that have counted it."""


class WorkerMetrics:
    """The metrics of one process in one registry. Several plugins share them, and an event counts once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        buckets = [bound / SECOND for bound in BOUNDS]
        self.attempts = Counter(ATTEMPTS, ATTEMPTS_TEXT, ["type", "outcome"], registry=registry)
        self.runs = Histogram(
            RUNS, RUNS_TEXT, ["type"],
            registry=registry, buckets=buckets,
        )  # fmt: skip
        self.waits = Histogram(
            WAITS, WAITS_TEXT, ["type"],
            registry=registry, buckets=buckets,
        )  # fmt: skip

    def count(self, event: Event) -> None:
        attempt = ended_attempt(event)
        if attempt is None:
            return
        attached: dict[str, Any] = vars(event)
        counted: set[int] = attached.setdefault(_COUNTED, set[int]())
        if id(self) in counted:
            return
        counted.add(id(self))
        self.attempts.labels(attempt.type, attempt.outcome).inc()
        if attempt.run is not None:
            self.runs.labels(attempt.type).observe(attempt.run / SECOND)
        if attempt.wait is not None:
            self.waits.labels(attempt.type).observe(attempt.wait / SECOND)


_metrics: WeakKeyDictionary[CollectorRegistry, WorkerMetrics] = WeakKeyDictionary()
_lock = Lock()


class Prometheus(Plugin):
    """Counts and times the attempts of this process: ``Jobs(plugins=[Prometheus()])``.

    `registry` is a registry of `prometheus_client`, by default its global one.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        registry = REGISTRY if registry is None else registry
        with _lock:
            if registry not in _metrics:
                _metrics[registry] = WorkerMetrics(registry)
            self.metrics = _metrics[registry]

    def wants(self, kind: str, /) -> bool:
        return kind in OUTCOMES

    def observe(self, event: Event, /) -> None:
        self.metrics.count(event)
