"""All wake-ups keep the contract, and the cases detect wake-ups that do not."""

from __future__ import annotations

import pytest

from holdfast import Hints
from holdfast.testing.wakeups import CASES, Case, WakeupsFactory, participants
from tests.wakeups.bus import BusWakeups, new_bus


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wake_ups_keep_the_contract(case: Case, make_wakeups: WakeupsFactory) -> None:
    case.run(make_wakeups)


class LocalOnly(BusWakeups):
    """Sends hints only to its own listeners."""

    def send(self, hints: Hints) -> None:
        self._here.send(hints)


class ClearsHints(BusWakeups):
    """Clears the hints of the sender, and sends only a part."""

    def send(self, hints: Hints) -> None:
        super().send(Hints(due=hints.due))
        hints.finished.clear()


class LosesSome(BusWakeups):
    """Loses some hints."""

    def send(self, hints: Hints) -> None:
        if any(name.endswith("7") for name in hints.finished):
            return
        super().send(hints)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (LocalOnly, "a listener receives hints sent by its own and by another object"),
        (ClearsHints, "the sender may change its hints after sending them"),
        (LosesSome, "no hint is lost when many threads send at once"),
    ],
)
def test_broken_wake_ups_fail_their_case(
    broken: type[BusWakeups], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(participants, "TIMEOUT", 0.1)
    address = f"bus://{new_bus()}"
    (case,) = [case for case in CASES if str(case) == sentence]

    with pytest.raises(AssertionError):
        case.run(lambda: broken(address))
