"""The nemesis: an injection without effect is no fault, excuses nothing, and is reported."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.torture.builders import Scenario, verdicts
from torture.audit import Change
from torture.checker import Result
from torture.evidence import Evidence, Facts
from torture.fleet import Fleet
from torture.harnesses.harness import Fault, Harness, Injection
from torture.history import History, Note, read
from torture.nemesis import Nemesis


class FaultyHarness(Harness):
    """A store with the given faults."""

    def __init__(self, **injections: Injection) -> None:
        self._faults = [Fault(kind, inject, recovery=0.0) for kind, inject in injections.items()]

    def audit(self) -> list[Change]:
        return []

    def ledger(self) -> list[tuple[str, int, str]]:
        return []

    def business(self) -> list[str]:
        return []

    def faults(self) -> list[Fault]:
        return self._faults


def fail(seconds: float) -> bool:
    raise OSError("no")


def notes_of(folder: Path, **injections: Injection) -> tuple[list[Note], list[str]]:
    """The notes after each fault was injected once, and the kinds that had no effect."""
    history = History(folder, "nemesis")
    unused: Any = None
    fleet: Fleet = unused
    nemesis = Nemesis(
        FaultyHarness(**injections),
        fleet,
        history=history,
        rng=random.Random(1),
        pause=1e-9,
        only=tuple(injections),
        begin_after=0.0,
    )
    done: set[str] = set()
    deadline = time.monotonic() + 60
    while len(done) < len(injections) and time.monotonic() < deadline:
        nemesis.act()
        nemesis.heal()
        done = {note.facts["kind"].partition(",")[0] for note in read(folder)[1] if note.what in ("fault", "tried")}
    history.close()
    return read(folder)[1], nemesis.unharmed


def test_only_an_injection_with_an_effect_is_a_fault(tmp_path: Path) -> None:
    notes, unharmed = notes_of(tmp_path, hit=lambda seconds: True, miss=lambda seconds: False)

    assert {(note.what, note.facts["kind"]) for note in notes} == {("fault", "hit"), ("tried", "miss")}
    assert unharmed == ["miss"]


def test_an_injection_without_effect_excuses_no_time(tmp_path: Path) -> None:
    notes, _ = notes_of(tmp_path, miss=lambda seconds: False)
    facts = Facts(store="sqlite", seed=1, profile="test", lease=1.0, reap=0.5, poll=1.0)

    assert Evidence(facts, [], [], notes).outages.all == []


def test_an_injection_that_failed_does_not_count_as_its_kind(tmp_path: Path) -> None:
    notes, unharmed = notes_of(tmp_path, full=fail)

    assert ("fault", "full, broken off") in {(note.what, note.facts.get("kind")) for note in notes}
    assert "broke" in {note.what for note in notes}
    assert unharmed == ["full"]


@pytest.mark.parametrize(("unharmed", "result"), [([], Result.OK), (["disk full"], Result.VACUOUS)])
def test_crashes_are_vacuous_unless_every_kind_of_fault_happened(unharmed: list[str], result: Result) -> None:
    def write(scenario: Scenario) -> None:
        scenario.note("fault", kind="kill", begun=scenario.now, outage=False, victim="w")
        scenario.facts.unharmed = unharmed

    assert verdicts(write)[22] is result
