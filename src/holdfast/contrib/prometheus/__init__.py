"""Prometheus: a collector for the numbers of the store, and a plugin for those of one process."""

from holdfast.errors import MissingExtra

try:
    from holdfast.contrib.prometheus.collector import Collector
    from holdfast.contrib.prometheus.plugin import Prometheus
except ModuleNotFoundError as error:
    raise MissingExtra("holdfast.contrib.prometheus", "prometheus") from error

__all__ = ["Collector", "Prometheus"]
