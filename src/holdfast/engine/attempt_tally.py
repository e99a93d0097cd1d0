"""Counts the attempts of a process by their events: outcomes per type, and how long they waited and ran."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

from holdfast.core.clock import Micros, duration
from holdfast.core.counters import BOUNDS, BUCKETS
from holdfast.engine.events import Event

OUTCOMES: Final = {
    "completed": "completed",
    "continued": "completed",
    "failed": "failed",
    "retrying": "retried",
    "rescheduled": "rescheduled",
    "suspended": "suspended",
    "cancelled": "cancelled",
    "released": "released",
    "mismatched": "mismatched",
    "lost": "lost",
}
"""The outcome of an attempt, by the event that ends it."""

_UNTIMED = frozenset({"released", "mismatched", "lost"})
"""Their times do not count, as in the store."""


class EndedAttempt(msgspec.Struct, frozen=True):
    """An attempt that ended. The times are None if they do not count."""

    type: str
    outcome: str
    run: Micros | None
    wait: Micros | None


def ended_attempt(event: Event) -> EndedAttempt | None:
    """The attempt that an event ends. None for other events, for example of a job that a client cancelled."""
    outcome = OUTCOMES.get(event.kind)
    if outcome is None or event.type is None or event.duration is None:
        return None
    if outcome in _UNTIMED:
        return EndedAttempt(event.type, outcome, None, None)
    record = event.record
    begun = None if record is None else record.started_at
    wait = None if record is None or begun is None else max(begun - record.scheduled_at, 0)
    return EndedAttempt(event.type, outcome, duration(max(event.duration, 0.0)), wait)


class TypeTally(msgspec.Struct):
    """The attempts of one type. `runs` and `waits` have one number per bucket of `BOUNDS`."""

    type: str
    outcomes: dict[str, int] = {}
    runs: list[int] = msgspec.field(default_factory=lambda: [0] * BUCKETS)
    waits: list[int] = msgspec.field(default_factory=lambda: [0] * BUCKETS)
    run_total: Micros = 0
    wait_total: Micros = 0


class AttemptTally:
    """An observer that counts attempts. It is used on one event loop."""

    def __init__(self) -> None:
        self.types: dict[str, TypeTally] = {}

    def wants(self, kind: str, /) -> bool:
        return kind in OUTCOMES

    def observe(self, event: Event, /) -> None:
        attempt = ended_attempt(event)
        if attempt is None:
            return
        found = self._of(attempt.type)
        found.outcomes[attempt.outcome] = found.outcomes.get(attempt.outcome, 0) + 1
        if attempt.run is not None:
            found.runs[bisect_left(BOUNDS, attempt.run)] += 1
            found.run_total += attempt.run
        if attempt.wait is not None:
            found.waits[bisect_left(BOUNDS, attempt.wait)] += 1
            found.wait_total += attempt.wait

    def add(self, part: TypeTally) -> None:
        """Add the attempts of another process."""
        found = self._of(part.type)
        for outcome, number in part.outcomes.items():
            found.outcomes[outcome] = found.outcomes.get(outcome, 0) + number
        found.runs = [a + b for a, b in zip(found.runs, part.runs, strict=True)]
        found.waits = [a + b for a, b in zip(found.waits, part.waits, strict=True)]
        found.run_total += part.run_total
        found.wait_total += part.wait_total

    def take(self) -> list[TypeTally]:
        """What was counted since the last call."""
        taken, self.types = self.types, {}
        return list(taken.values())

    def _of(self, type: str) -> TypeTally:
        found = self.types.get(type)
        if found is None:
            found = self.types[type] = TypeTally(type)
        return found
