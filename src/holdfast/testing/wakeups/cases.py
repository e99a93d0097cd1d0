"""The list of all cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isfunction

from holdfast.testing.wakeups import contract
from holdfast.testing.wakeups.participants import Participants, WakeupsFactory


@dataclass(frozen=True, slots=True)
class Case:
    """One sentence of the contract, and the test of it."""

    sentence: str
    _body: Callable[[Participants], None]

    def __str__(self) -> str:
        return self.sentence

    def run(self, make_wakeups: WakeupsFactory) -> None:
        """Test this implementation. Raises AssertionError if it does not keep the contract."""
        with Participants(make_wakeups) as participants:
            self._body(participants)


def _cases() -> Iterator[Case]:
    for name, body in vars(contract).items():
        if isfunction(body) and body.__module__ == contract.__name__ and not name.startswith("_"):
            yield Case(name.replace("_", " "), body)


CASES: tuple[Case, ...] = tuple(_cases())
