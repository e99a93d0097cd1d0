"""A collector: the numbers of a store, read at each scrape."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector as BaseCollector

from holdfast.client.sync_client import SyncClient
from holdfast.contrib.prometheus.store_metrics import EMPTY, read_store, store_metrics, up
from holdfast.engine.observers import LogThrottle, log
from holdfast.engine.procedures import run_sync
from holdfast.errors import HoldfastError


class Collector(BaseCollector):
    """The metrics of a whole store, exact and labelled by type: ``REGISTRY.register(Collector(client))``.

    Each scrape reads the store. While it cannot be read, `holdfast_up` is 0 and the other samples are absent. All
    processes of an application would report the same numbers: register it in one of them.
    """

    def __init__(self, client: SyncClient) -> None:
        if not isinstance(client, SyncClient):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without types
            raise TypeError(f"Collector takes a SyncClient, because scrapes are blocking; not {type(client).__name__}")
        self._client = client
        self._log_throttle = LogThrottle()

    def describe(self) -> Iterable[Metric]:
        """The names, without reading the store."""
        return [up(False), *store_metrics(EMPTY)]

    def collect(self) -> Iterable[Metric]:
        """Read the store."""
        try:
            reading = run_sync(self._client.store.perform_sync, read_store())
        except HoldfastError as error:
            if self._log_throttle.should_log(str(error)):
                log.warning("the metrics of the store cannot be read: %s", error)
            return [up(False)]
        return [up(True), *store_metrics(reading)]
