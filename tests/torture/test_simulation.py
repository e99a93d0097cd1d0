"""Simulations: the same again from the same seed, and nothing broken in many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from torture.simulation import many
from torture.simulation.many import explore
from torture.simulation.simulating import simulate

ROOT = Path(__file__).parents[2]
FIRST = 1
MANY = 150


def test_a_seed_decides_everything() -> None:
    one, other = simulate(7), simulate(7)

    assert one.changes
    assert one.changes == other.changes
    assert one.calls == other.calls
    assert one.notes == other.notes


def test_another_seed_is_another_story() -> None:
    assert simulate(7).changes != simulate(8).changes


def test_as_many_processes_as_there_are_tell_the_same_stories(tmp_path: Path) -> None:
    reported = [_told_by(processes, tmp_path / f"{processes}.json") for processes in (1, 3)]

    assert reported[0]["simulations"] == 10
    assert reported[0] == reported[1]


def test_no_invariant_is_broken_under_any_of_many_seeds() -> None:
    seen = explore(range(FIRST, FIRST + MANY), 120)

    assert seen.simulations == MANY
    assert not seen.broken, {number: (seeds, seen.shown[number]) for number, seeds in seen.broken.items()}
    assert seen.crashes
    assert seen.faults
    for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 17, 18, 27):
        assert seen.opportunities[number], f"invariant {number} was never put to the test"


def _told_by(processes: int, report: Path) -> dict[str, Any]:
    arguments = ["--first", "5", "--number", "10", "--processes", str(processes), "--report", str(report)]
    subprocess.run([sys.executable, "-m", "torture.simulation", *arguments], cwd=ROOT, check=True, capture_output=True)
    reported: dict[str, Any] = json.loads(report.read_text())
    del reported["seconds"]
    return reported


def test_a_process_that_dies_fails_the_exploration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "Simulation", _die)

    with pytest.raises(BrokenProcessPool):
        many.explore_at_once(range(1, 5), 10, processes=2)


def _die(*arguments: Any, **options: Any) -> None:
    os._exit(9)
