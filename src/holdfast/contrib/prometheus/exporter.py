"""What the health endpoints of `holdfast worker` and `holdfast supervise` add to `/metrics`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from holdfast.contrib.prometheus import plugin as names
from holdfast.contrib.prometheus.store_metrics import cumulative, read_store, store_metrics
from holdfast.core.clock import SECOND
from holdfast.engine.attempt_tally import AttemptTally
from holdfast.engine.procedures import run
from holdfast.engine.store import Store
from holdfast.supervisor.exporting import Exposition


class PrometheusExporter:
    """The metrics of `Collector`, and those of `Prometheus` for the workers of this process or of a supervisor."""

    def __init__(self) -> None:
        self.attempts = AttemptTally()

    def process(self) -> Exposition:
        attempts = CounterMetricFamily(names.ATTEMPTS, names.ATTEMPTS_TEXT, labels=["type", "outcome"])
        runs = HistogramMetricFamily(names.RUNS, names.RUNS_TEXT, labels=["type"])
        waits = HistogramMetricFamily(names.WAITS, names.WAITS_TEXT, labels=["type"])
        for type, tally in sorted(self.attempts.types.items()):
            for outcome, number in sorted(tally.outcomes.items()):
                attempts.add_metric([type, outcome], number)
            runs.add_metric([type], cumulative(tally.runs), tally.run_total / SECOND)
            waits.add_metric([type], cumulative(tally.waits), tally.wait_total / SECOND)
        return _exposition([attempts, runs, waits])

    async def store(self, store: Store) -> Exposition:
        return _exposition(store_metrics(await run(store.perform, read_store())))


class _Families(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _exposition(families: Sequence[Metric]) -> Exposition:
    return Exposition(generate_latest(_Families(families)).decode(), frozenset(family.name for family in families))
