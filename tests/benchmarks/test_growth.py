"""The figures of growth: the operations work on a store, and the chart shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.growth.chart import chart
from benchmarks.growth.filling import fill
from benchmarks.growth.operations import GrowthSample
from benchmarks.growth.results import StoreGrowth, summarise
from holdfast.core.record import Status
from holdfast.engine.operations import GetStats
from holdfast.stores.sqlite import SqliteStore


def test_a_sample_leaves_as_many_pending_jobs_as_before(tmp_path: Path) -> None:
    store = SqliteStore(f"sqlite:///{tmp_path}/jobs.db")
    store.open_sync()
    fill(store, 50)

    sample = GrowthSample(store).measure()

    counts = {stats.type: stats for stats in store.perform_sync(GetStats())}
    store.close_sync()
    assert {"start", "claim", "settle", "explain", "prune"} <= set(sample)
    assert counts["pending"].counts[Status.PENDING] == 50
    assert counts["finished"].counts[Status.COMPLETED] == 40


def test_the_chart_is_an_svg_with_a_line_for_each_operation() -> None:
    rounds = {size: [{"claim": size * 1e-6, "start": 0.001}] for size in (1000, 10_000)}
    growth: dict[str, StoreGrowth] = {"sqlite": summarise(rounds, {})}

    drawn = chart(growth)

    assert drawn.count("<polyline") == 2
    assert "prefers-color-scheme: dark" in drawn
    assert growth["sqlite"].ratio("claim", 10_000) == pytest.approx(10)
