"""Collects spans and metrics in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast import Client, Jobs
from holdfast.contrib.otel import OpenTelemetry
from holdfast.stores.memory import MemoryStore
from holdfast.testing import ManualClock


class Telemetry:
    """Providers that keep everything in memory, and the plugin that uses them."""

    def __init__(self, **options: Any) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self._traces = TracerProvider()
        self._traces.add_span_processor(SimpleSpanProcessor(self._spans))
        self._meters = MeterProvider([self._metrics])
        self.tracer = self._traces.get_tracer("test")
        self.plugin = OpenTelemetry(tracer_provider=self._traces, meter_provider=self._meters, **options)

    def spans(self, name: str | None = None) -> list[ReadableSpan]:
        return [span for span in self._spans.get_finished_spans() if name is None or span.name == name]

    def span(self, name: str) -> ReadableSpan:
        (span,) = self.spans(name)
        return span

    def points(self, name: str) -> list[Any]:
        data = self._metrics.get_metrics_data()
        resources: list[Any] = [] if data is None else list(data.resource_metrics)
        metrics: list[Any] = [metric for each in resources for scope in each.scope_metrics for metric in scope.metrics]
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]

    def total(self, name: str, **about: str) -> float:
        wanted = {key.replace("__", "."): value for key, value in about.items()}
        found = [point for point in self.points(name) if wanted.items() <= dict(point.attributes).items()]
        return float(sum(point.value if hasattr(point, "value") else point.count for point in found))

    def shutdown(self) -> None:
        self._traces.shutdown()
        self._meters.shutdown()


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry()
    yield made
    made.shutdown()


@asynccontextmanager
async def client_of(jobs: Jobs, *, clock: ManualClock | None = None) -> AsyncGenerator[Client]:
    async with Client(MemoryStore(clock=clock), jobs) as client:
        yield client
