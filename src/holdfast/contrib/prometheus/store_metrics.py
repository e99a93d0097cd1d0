"""The metrics of a store: one reading, and the metric families that show it. No label contains an id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from holdfast.core.clock import SECOND, Micros
from holdfast.core.counters import BOUNDS, CounterReading, Counts, Histogram
from holdfast.core.record import Status
from holdfast.core.worker_record import WorkerRecord
from holdfast.engine.operations import GetCounters, GetLimits, GetStats, GetWorkers, LimitReport, TypeStats
from holdfast.engine.procedures import Procedure

UP: Final = "holdfast_up"

_COUNTERS = {
    "started": "Jobs that were created.",
    "completed": "Jobs that were completed.",
    "failed": "Jobs that failed permanently.",
    "retried": "Attempts that failed and are followed by another one.",
    "reaped": "Attempts whose lease was lost.",
    "rescheduled": "Attempts that ended with Reschedule.",
    "cancelled": "Jobs that were cancelled.",
}


class StoreReading(NamedTuple):
    """What a store answered. The parts are read one after the other."""

    now: Micros
    counts: dict[str, Counts]
    """Since the store was created, by type."""
    stats: dict[str, TypeStats]
    workers: list[WorkerRecord]
    limits: list[LimitReport]


EMPTY: Final = StoreReading(0, {}, {}, [], [])


def read_store() -> Procedure[StoreReading]:
    """Read everything that the metrics need."""
    counters: CounterReading = yield GetCounters(last=0)
    stats: list[TypeStats] = yield GetStats(may_lag=True)
    workers: list[WorkerRecord] = yield GetWorkers()
    limits: list[LimitReport] = yield GetLimits()
    return StoreReading(counters.now, counters.totals, {each.type: each for each in stats}, workers, limits)


def up(known: bool) -> Metric:
    return GaugeMetricFamily(UP, "Whether the store can be read.", value=float(known))


def store_metrics(reading: StoreReading) -> list[Metric]:
    """The metric families of a reading. A type that the store knows has a sample in each of them, also if it is 0."""
    types = sorted({*reading.counts, *reading.stats, *(type for each in reading.workers for type in each.types)})
    counts = {type: reading.counts.get(type, Counts()) for type in types}
    return [
        *(_counter(kind, text, counts) for kind, text in _COUNTERS.items()),
        _histogram("wait", "Time from due to claimed.", {type: each.waits for type, each in counts.items()}),
        _histogram("run", "Time from claimed to settled.", {type: each.runs for type, each in counts.items()}),
        *_backlog(types, reading),
        _gauge(
            "workers", "Live workers that run the type.",
            {type: sum(type in each.types for each in reading.workers) for type in types},
        ),
        *_limits(reading.limits),
    ]  # fmt: skip


def _counter(kind: str, text: str, counts: dict[str, Counts]) -> Metric:
    family = CounterMetricFamily(f"holdfast_{kind}", text, labels=["type"])
    for type, each in counts.items():
        family.add_metric([type], getattr(each, kind))
    return family


def _histogram(name: str, text: str, histograms: dict[str, Histogram]) -> Metric:
    family = HistogramMetricFamily(f"holdfast_{name}_seconds", text, labels=["type"])
    for type, each in histograms.items():
        family.add_metric([type], cumulative(each.counts), each.total / SECOND)
    return family


def cumulative(counts: Iterable[int]) -> list[tuple[str, float]]:
    """The buckets as Prometheus has them: each contains those below."""
    buckets, below = list[tuple[str, float]](), 0
    for bound, number in zip((*BOUNDS, None), counts, strict=True):
        below += number
        buckets.append(("+Inf" if bound is None else str(bound / SECOND), below))
    return buckets


def _backlog(types: Iterable[str], reading: StoreReading) -> list[Metric]:
    due, oldest, running = dict[str, float](), dict[str, float](), dict[str, float]()
    for type in types:
        stats = reading.stats.get(type)
        runnable = stats is not None and not stats.paused
        due[type] = stats.due if stats is not None and runnable else 0
        since = stats.oldest_due if stats is not None and runnable else None
        oldest[type] = 0.0 if since is None else max(0, reading.now - since) / SECOND
        running[type] = 0 if stats is None else stats.counts.get(Status.RUNNING, 0)
    return [
        _gauge("due", "Jobs that could run now. Those of a paused type could not.", due),
        _gauge("oldest_due_seconds", "For how long the first of them has been due; 0 if none is.", oldest),
        _gauge("running", "Jobs that some worker runs.", running),
    ]


def _gauge(name: str, text: str, values: dict[str, float]) -> Metric:
    family = GaugeMetricFamily(f"holdfast_{name}", text, labels=["type"])
    for type, value in values.items():
        family.add_metric([type], value)
    return family


def _limits(limits: Iterable[LimitReport]) -> list[Metric]:
    """Over all lanes of a limit: the key of a lane may be an id."""
    number = GaugeMetricFamily("holdfast_limit", "The number in force of a limit or rate.", labels=["limit"])
    running = GaugeMetricFamily("holdfast_limit_running", "Running jobs in the lanes of a limit.", labels=["limit"])
    waiting = GaugeMetricFamily("holdfast_limit_waiting", "Waiting jobs in the lanes of a limit.", labels=["limit"])
    for each in limits:
        number.add_metric([each.name], each.number)
        running.add_metric([each.name], sum(lane.running for lane in each.lanes))
        waiting.add_metric([each.name], sum(lane.waiting for lane in each.lanes))
    return [number, running, waiting]
