"""Simulations: the same seed gives the same run, and many seeds give no violation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from torture.simulation import exploration
from torture.simulation.exploration import explore
from torture.simulation.simulation import simulate

ROOT = Path(__file__).parents[2]
FIRST = 1
MANY = 150


def test_a_seed_determines_everything() -> None:
    one, other = simulate(7), simulate(7)

    assert one.changes
    assert one.changes == other.changes
    assert one.calls == other.calls
    assert one.notes == other.notes


def test_another_seed_gives_another_run() -> None:
    assert simulate(7).changes != simulate(8).changes


def test_the_number_of_processes_does_not_change_the_results(tmp_path: Path) -> None:
    reported = [_report_of(processes, tmp_path / f"{processes}.json") for processes in (1, 3)]

    assert reported[0]["simulations"] == 10
    assert reported[0] == reported[1]


def test_no_invariant_is_violated_by_many_seeds() -> None:
    seen = explore(range(FIRST, FIRST + MANY), 120)

    assert seen.simulations == MANY
    assert not seen.broken, {number: (seeds, seen.shown[number]) for number, seeds in seen.broken.items()}
    assert seen.crashes
    assert seen.faults
    for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 17, 18, 27):
        assert seen.opportunities[number], f"invariant {number} was never tested"


def _report_of(processes: int, report: Path) -> dict[str, Any]:
    arguments = ["--first", "5", "--number", "10", "--processes", str(processes), "--report", str(report)]
    subprocess.run([sys.executable, "-m", "torture.simulation", *arguments], cwd=ROOT, check=True, capture_output=True)
    reported: dict[str, Any] = json.loads(report.read_text())
    del reported["seconds"]
    return reported


def test_a_process_that_dies_fails_the_exploration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploration, "Simulation", _die)

    with pytest.raises(BrokenProcessPool):
        exploration.explore_at_once(range(1, 5), 10, processes=2)


def _die(*arguments: Any, **options: Any) -> None:
    os._exit(9)
