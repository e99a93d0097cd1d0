"""The Grafana dashboard and the alert rules in the documentation use metrics and labels that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from holdfast import Jobs, SyncClient
from holdfast.contrib.prometheus import Collector, Prometheus
from holdfast.stores.memory import MemoryStore
from holdfast.testing import drain_sync

FILES = Path(__file__).parents[2] / "docs/plugins/prometheus"
ALERTS = FILES / "alerts.yml"
PROMTOOL = shutil.which("promtool")


def exported() -> set[str]:
    """The names of all samples that the collector and the plugin can export."""
    registry = CollectorRegistry()
    Prometheus(registry)
    families = [*Collector(SyncClient(MemoryStore())).describe(), *registry.collect()]
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    return {family.name + suffix for family in families for suffix in suffixes[family.type]}


def dashboard_queries() -> list[str]:
    """The queries of the panels and of the variables."""
    found: list[str] = []

    def collect(node: dict[str, Any]) -> dict[str, Any]:
        found.extend(node[key] for key in ("expr", "definition") if key in node)
        return node

    json.loads((FILES / "dashboard.json").read_text(), object_hook=collect)
    return found


def alert_queries() -> list[str]:
    return re.findall(r"^ +expr: (.+)$", ALERTS.read_text(), re.MULTILINE)


@pytest.mark.parametrize("queries", [dashboard_queries(), alert_queries()], ids=["dashboard", "alerts"])
def test_every_metric_exists(queries: list[str]) -> None:
    used = {name for query in queries for name in re.findall(r"\bholdfast_\w+", query)}
    labels = {name for query in queries for name in re.findall(r"(\w+)=~?\"", query)}

    assert len(queries) >= 6
    assert all("holdfast_" in query for query in queries)
    assert used <= exported(), used - exported()
    assert labels <= {"type"}


def test_every_alert_has_a_query_and_a_summary() -> None:
    text = ALERTS.read_text()

    assert text.count("- alert: ") == len(alert_queries()) == text.count("summary: ")


if PROMTOOL is not None:  # Debian package prometheus; `.ci/run` installs it where it can

    def test_promtool_accepts_the_rules_and_the_metrics() -> None:
        assert PROMTOOL is not None
        registry = CollectorRegistry()
        jobs = Jobs(plugins=[Prometheus(registry)])

        @jobs.job
        def ship() -> None: ...

        with SyncClient(MemoryStore(), jobs) as client:
            client.start(ship.bind())
            drain_sync(client)
            registry.register(Collector(client))
            scraped = generate_latest(registry)

        subprocess.run([PROMTOOL, "check", "rules", str(ALERTS)], check=True)
        subprocess.run([PROMTOOL, "check", "metrics"], input=scraped, check=True)
