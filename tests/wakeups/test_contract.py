"""All wake-ups keep the contract, and those that do not are found out."""

from __future__ import annotations

import pytest

from holdfast import Hints
from holdfast.testing.wakeups import CASES, Case, Place, participants
from tests.wakeups.bus import BusWakeups, new_bus


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wake_ups_keep_the_contract(case: Case, place: Place) -> None:
    case.run(place)


class Deaf(BusWakeups):
    """Tells nobody else."""

    def send(self, hints: Hints) -> None:
        self._here.send(hints)


class Greedy(BusWakeups):
    """Keeps what it was given, and forgets what it was told."""

    def send(self, hints: Hints) -> None:
        super().send(Hints(due=hints.due))
        hints.finished.clear()


class Forgetful(BusWakeups):
    """Loses some."""

    def send(self, hints: Hints) -> None:
        if any(name.endswith("7") for name in hints.finished):
            return
        super().send(hints)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Deaf, "whoever listens hears what is sent here and elsewhere"),
        (Greedy, "hints stay the senders"),
        (Forgetful, "in a flood from many threads nothing is lost"),
    ],
)
def test_broken_wake_ups_fail_their_case(
    broken: type[BusWakeups], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participants, "PATIENCE", 0.1)
    address = f"bus://{new_bus()}"
    (case,) = [case for case in CASES if str(case) == sentence]

    with pytest.raises(AssertionError):
        case.run(lambda: broken(address))
