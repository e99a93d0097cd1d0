"""What the health endpoints of the commands export for Prometheus, if `prometheus_client` is installed."""

from __future__ import annotations

from holdfast.errors import MissingExtra
from holdfast.supervisor.exporting import Exporter


def exporter() -> Exporter | None:
    """The metrics of the store, and of the attempts that are counted in its `attempts`."""
    try:
        from holdfast.contrib.prometheus.exporter import PrometheusExporter
    except MissingExtra:
        return None
    return PrometheusExporter()
