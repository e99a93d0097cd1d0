"""Reports: bars, tables, a chart; partial runs add up."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.__main__ import main
from benchmarks.bars import verdicts
from benchmarks.chart import chart
from benchmarks.report import report
from benchmarks.results import Results

DRAIN = "drain, best settings"


def measured(**rates: float) -> Results:
    """Results of a drain on Redis, by contender."""
    results = Results()
    for name, rate in rates.items():
        entry = results.begin("redis", DRAIN, {"limit": "limit: Lua"}.get(name, name), scale=1.0)
        entry.rounds = [{DRAIN: rate * part} for part in (0.9, 1.0, 1.2)]
    return results


def test_a_figure_is_the_median_with_its_noise() -> None:
    figure = measured(Holdfast=1000).figure("redis", DRAIN, "Holdfast")

    assert figure is not None
    assert figure.value == 1000
    assert figure.noise == pytest.approx(0.15)
    assert figure.rounds == 3


@pytest.mark.parametrize(("ours", "reached"), [(4001, True), (3999, False)])
def test_a_bar_is_reached_or_not_beside_the_best_peer_of_the_same_run(ours: float, reached: bool) -> None:
    found = verdicts(measured(Holdfast=ours, Huey=500, Dramatiq=1000))

    (verdict,) = [each for each in found if (each.bar.store, each.bar.metric) == ("redis", DRAIN)]
    assert verdict.other == ("Dramatiq", 1000)
    assert verdict.reached is reached


def test_a_bar_without_figures_is_neither_reached_nor_missed() -> None:
    assert {verdict.reached for verdict in verdicts(Results())} == {None}


def test_the_report_has_ratios_promises_and_reasons() -> None:
    results = measured(Holdfast=5000, Dramatiq=1000, limit=10_000)
    results.begin("redis", DRAIN, "RQ", scale=1.0).trouble = "cannot be installed: no such wheel"

    page = report(results)

    assert "| Redis | drain, best settings | 5,000 /s | Dramatiq 1,000 /s | 4 x best peer: 4,000 /s | reached |" in page
    assert "| Dramatiq | 1,000 /s | 15% | 5.00 x as good |" in page
    assert "| limit: Lua | 10,000 /s | 15% | 0.50 x as good |" in page
    assert "at least once, unacknowledged messages come back" in page
    assert "| Redis | drain, best settings | RQ | cannot be installed: no such wheel |" in page


def test_the_chart_is_an_image_with_a_bar_for_each() -> None:
    drawn = ElementTree.fromstring(chart(measured(Holdfast=5000, Dramatiq=1000, Huey=900, limit=10_000)))  # noqa: S314

    bars = drawn.findall("{http://www.w3.org/2000/svg}rect")
    assert [bar.get("class") for bar in bars] == ["ours", "peer", "peer"]
    assert float(bars[0].get("width", 0)) == pytest.approx(5 * float(bars[1].get("width", 0)), rel=0.01)


def test_partial_runs_add_up(tmp_path: Path) -> None:
    first = measured(Holdfast=5000, Dramatiq=1000)
    first.write(tmp_path / "results.json")

    second = Results(tmp_path / "results.json")
    second.begin("redis", DRAIN, "Holdfast", scale=1.0).rounds = [{DRAIN: 6000.0}]
    second.write(tmp_path / "results.json")
    main(["--report", "--output", str(tmp_path)])

    page = (tmp_path / "RESULTS.md").read_text()
    assert "6,000 /s" in page
    assert "Dramatiq 1,000 /s" in page
    assert (tmp_path / "results.svg").exists()
