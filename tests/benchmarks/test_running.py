"""The benchmark runs: on a tiny load, without peers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import legs, ticks
from benchmarks.contender import Contender
from benchmarks.contenders import contenders, peers
from benchmarks.ours import Ours
from benchmarks.processes import Broken
from benchmarks.results import Results
from benchmarks.runner import Choice, measure, run
from benchmarks.scenarios import SCENARIOS
from benchmarks.scenarios.starting import Starting
from benchmarks.storage import STORES
from benchmarks.storage.sqlite import SqliteStorage


def test_holdfast_the_limit_and_the_work_by_hand_are_measured_in_processes_of_their_own() -> None:
    results = Results()
    said: list[str] = []

    run(Choice(["sqlite"], ["transactional"], peers=(), rounds=1, scale=0.001), results, said.append)

    assert results.troubles() == []
    for name in ("Holdfast", "limit: sqlite3", "by hand: aiosqlite"):
        figure = results.figure("sqlite", "transactional handlers", name)
        assert figure is not None
        assert figure.value > 0
    assert len(said) == 3
    assert "holdfast" in results.versions["Holdfast"]


def test_where_the_time_of_a_round_trip_goes_is_shown_leg_by_leg(capsys: pytest.CaptureFixture[str]) -> None:
    assert legs.main(["--store", "sqlite", "--count", "3"]) == 0

    shown = capsys.readouterr().out
    assert "3 round trips" in shown
    assert all(leg in shown for leg in legs.LEGS)


def test_a_contender_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ours, "name", "no contender of this name")

    with pytest.raises(Broken, match="KeyError"):
        measure(Starting(), Ours, SqliteStorage(), 0.001)


def test_handlers_are_counted_with_when_the_first_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ticks.VARIABLE, str(tmp_path / "ticks"))
    monkeypatch.setattr(ticks, "_slot", None)
    counted = ticks.Ticks(tmp_path / "ticks")
    counted.create()

    ticks.tick()
    ticks.lap(0)

    assert counted.count() == 2
    assert counted.first() > 0
    assert len(counted.laps()) == 1


@pytest.mark.parametrize("store", STORES)
def test_every_contender_of_a_store_states_its_promises_and_has_a_scenario(store: str) -> None:
    for each in contenders(store):
        about = each.about[store]
        assert about.guarantee
        assert about.retention
        assert about.best
        assert any(scenario.fits(each, store) for scenario in SCENARIOS)


def test_peers_are_installed_in_fixed_versions() -> None:
    def fixed(peer: type[Contender]) -> bool:
        return "==" in peer.requirements[0]

    assert len({peer.requirements for peer in peers()}) == 14
    assert all(fixed(peer) for peer in peers())
