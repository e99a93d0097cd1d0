"""A verdict: what the evidence says about one invariant."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Word(StrEnum):
    OK = "OK"
    VIOLATED = "VIOLATED"
    VACUOUS = "VACUOUS"
    """The race or fault that could have broken it never happened, so nothing was shown."""
    NOT_APPLICABLE = "NOT APPLICABLE"
    """Nothing here that it speaks of; the reason is stated."""
    LOST = "LOST"
    """The store was set up so that it may, and it did: what was acknowledged is gone. Counted, not judged."""


MOST_SHOWN = 20


@dataclass(slots=True)
class Tally:
    """What one check counted."""

    opportunities: int = 0
    """How often it could have gone wrong."""
    violations: list[str] = field(default_factory=list[str])
    proven: int = 0
    """How many of these the store's own audit shows, whatever anybody was told."""
    reason: str | None = None
    """Why it does not apply."""
    counts: dict[str, float] = field(default_factory=dict[str, float])

    def expect(self, holds: bool, otherwise: str, *, by_audit: bool = False) -> None:
        """One more opportunity; it went wrong unless this holds."""
        self.opportunities += 1
        if not holds:
            self.broken(otherwise, by_audit=by_audit)

    def broken(self, how: str, *, by_audit: bool = False) -> None:
        """`by_audit`: nobody's word is needed for it, so that a store which forgets is no excuse."""
        self.violations.append(how)
        self.proven += by_audit

    def expect_soon(self, timely: bool, holds: bool, otherwise: str) -> None:
        """The same for a bound of time. Where time is not judged this is no opportunity: what is late is counted."""
        if timely:
            self.expect(holds, otherwise)
        elif not holds:
            self.counts["late"] = self.counts.get("late", 0) + 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """A line of the report."""

    number: int
    name: str
    word: Word
    opportunities: int
    violations: tuple[str, ...]
    """The first of them, each with the changes that show it."""
    broken: int
    reason: str | None = None
    counts: dict[str, float] = field(default_factory=dict[str, float])


def judge(number: int, name: str, tally: Tally, *, may_lose: bool = False) -> Verdict:
    """`may_lose`: the store was set up so that it forgets what it was told. Its audit is forgotten with it."""
    if tally.violations:
        word = Word.LOST if may_lose and not tally.proven else Word.VIOLATED
    elif tally.reason is not None:
        word = Word.NOT_APPLICABLE
    else:
        word = Word.OK if tally.opportunities else Word.VACUOUS
    shown = tuple(tally.violations[:MOST_SHOWN])
    return Verdict(number, name, word, tally.opportunities, shown, len(tally.violations), tally.reason, tally.counts)
