"""The cases, gathered from their file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isfunction

from holdfast.testing.wakeups import contract
from holdfast.testing.wakeups.participants import Parties, Place


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that must be true of all wake-ups."""

    sentence: str
    _body: Callable[[Parties], None]

    def __str__(self) -> str:
        return self.sentence

    def run(self, place: Place) -> None:
        """Run on this channel. Raises AssertionError where the contract is not kept."""
        with Parties(place) as parties:
            self._body(parties)


def _cases() -> Iterator[Case]:
    for name, body in vars(contract).items():
        if isfunction(body) and body.__module__ == contract.__name__ and not name.startswith("_"):
            yield Case(name.replace("_", " "), body)


CASES: tuple[Case, ...] = tuple(_cases())
