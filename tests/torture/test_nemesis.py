"""The nemesis: what it only tried is no fault, excuses nothing, and is known never to have happened."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.torture.builders import Story, verdicts
from torture.audit import Change
from torture.checker import Word
from torture.evidence import Evidence, Facts
from torture.fleet import Fleet
from torture.grounds.harness import Fault, Harm, Harness
from torture.history import History, Note, read
from torture.nemesis import Nemesis


class Bare(Harness):
    """A store that can be harmed in the given ways."""

    def __init__(self, **harms: Harm) -> None:
        self._faults = [Fault(kind, harm, recovery=0.0) for kind, harm in harms.items()]

    def audit(self) -> list[Change]:
        return []

    def ledger(self) -> list[tuple[str, int, str]]:
        return []

    def business(self) -> list[str]:
        return []

    def faults(self) -> list[Fault]:
        return self._faults


def break_off(seconds: float) -> bool:
    raise OSError("no")


def notes_of(folder: Path, **harms: Harm) -> tuple[list[Note], list[str]]:
    """What is noted when each of these had its turn once, and what never happened by then."""
    history = History(folder, "nemesis")
    nobody: Any = None
    fleet: Fleet = nobody
    nemesis = Nemesis(
        Bare(**harms), fleet, history=history, rng=random.Random(1), pause=1e-9, only=tuple(harms), begin_after=0.0
    )
    done: set[str] = set()
    deadline = time.monotonic() + 30
    while len(done) < len(harms) and time.monotonic() < deadline:
        nemesis.act()
        nemesis.heal()
        done = {note.facts["kind"].partition(",")[0] for note in read(folder)[1] if note.what in ("fault", "tried")}
    history.close()
    return read(folder)[1], nemesis.unharmed


def test_only_what_happened_is_a_fault(tmp_path: Path) -> None:
    notes, unharmed = notes_of(tmp_path, hit=lambda seconds: True, miss=lambda seconds: False)

    assert {(note.what, note.facts["kind"]) for note in notes} == {("fault", "hit"), ("tried", "miss")}
    assert unharmed == ["miss"]


def test_what_was_only_tried_excuses_no_time(tmp_path: Path) -> None:
    notes, _ = notes_of(tmp_path, miss=lambda seconds: False)
    facts = Facts(store="sqlite", seed=1, profile="test", lease=1.0, reap=0.5, poll=1.0)

    assert Evidence(facts, [], [], notes).outages.all == []


def test_harm_that_broke_off_does_not_count_as_what_it_was_meant_to_be(tmp_path: Path) -> None:
    notes, unharmed = notes_of(tmp_path, full=break_off)

    assert ("fault", "full, broken off") in {(note.what, note.facts.get("kind")) for note in notes}
    assert "broke" in {note.what for note in notes}
    assert unharmed == ["full"]


@pytest.mark.parametrize(("unharmed", "word"), [([], Word.OK), (["disk full"], Word.VACUOUS)])
def test_crashes_show_everything_only_if_every_kind_of_harm_happened(unharmed: list[str], word: Word) -> None:
    def emit(story: Story) -> None:
        story.note("fault", kind="kill", begun=story.now, outage=False, victim="w")
        story.facts.unharmed = unharmed

    assert verdicts(emit)[22] is word
