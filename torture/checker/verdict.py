"""A verdict: what the evidence shows about one invariant."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec


class Result(StrEnum):
    OK = "OK"
    VIOLATED = "VIOLATED"
    VACUOUS = "VACUOUS"
    """The race or fault that could violate it never happened, so the run proves nothing about it."""
    NOT_APPLICABLE = "NOT APPLICABLE"
    """The invariant does not apply; the verdict has a reason."""
    LOST = "LOST"
    """Acknowledged writes are missing, which the mode of the store allows. They are counted."""


MOST_SHOWN = 20


@dataclass(slots=True)
class Tally:
    """The counts of one check."""

    opportunities: int = 0
    """How often the invariant could have been violated."""
    violations: list[str] = field(default_factory=list[str])
    proven: int = 0
    """How many violations the audit alone proves, without the answers of calls."""
    reason: str | None = None
    """Why the invariant does not apply."""
    counts: dict[str, float] = field(default_factory=dict[str, float])

    def expect(self, holds: bool, otherwise: str, *, by_audit: bool = False) -> None:
        """Count an opportunity, and a violation unless `holds`."""
        self.opportunities += 1
        if not holds:
            self.broken(otherwise, by_audit=by_audit)

    def broken(self, how: str, *, by_audit: bool = False) -> None:
        """Count a violation. `by_audit`: the audit alone proves it, so a weaker mode of the store is no excuse."""
        self.violations.append(how)
        self.proven += by_audit

    def expect_soon(self, timely: bool, holds: bool, otherwise: str) -> None:
        """The same for a time limit. Without `timely` this is no opportunity, and late cases are only counted."""
        if timely:
            self.expect(holds, otherwise)
        elif not holds:
            self.counts["late"] = self.counts.get("late", 0) + 1


class Verdict(msgspec.Struct, frozen=True):
    """One line of the report: what the run shows about one invariant."""

    number: int
    name: str
    result: Result = msgspec.field(name="word")  # wording: a key of the JSON reports, which scripts read
    opportunities: int
    violations: tuple[str, ...]
    """The first violations, each with the changes that prove it."""
    broken: int
    reason: str | None = None
    counts: dict[str, float] = {}


def judge(number: int, name: str, tally: Tally, *, may_lose: bool = False) -> Verdict:
    """`may_lose`: the mode of the store may lose acknowledged writes, and their audit with them."""
    if tally.violations:
        result = Result.LOST if may_lose and not tally.proven else Result.VIOLATED
    elif tally.reason is not None:
        result = Result.NOT_APPLICABLE
    else:
        result = Result.OK if tally.opportunities else Result.VACUOUS
    shown = tuple(tally.violations[:MOST_SHOWN])
    return Verdict(number, name, result, tally.opportunities, shown, len(tally.violations), tally.reason, tally.counts)
