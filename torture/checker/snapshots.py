"""Compares each result of `stats` with the number of jobs that existed during the call."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from torture.checker.execution import TICK
from torture.checker.transitions import committed_by
from torture.checker.verdict import Tally
from torture.evidence import Evidence


@dataclass(slots=True)
class Moments:
    """Earliest and latest times of creations or deletions: the commit comes after the write in the audit."""

    earliest: list[int] = field(default_factory=list[int])
    latest: list[int] = field(default_factory=list[int])

    def sort(self) -> None:
        self.earliest.sort()
        self.latest.sort()

    def certainly(self, before: int) -> int:
        return bisect_left(self.latest, before)

    def possibly(self, until: int) -> int:
        return bisect_right(self.earliest, until + TICK)


def check_snapshots(tally: Tally, evidence: Evidence) -> None:
    """At least the jobs that existed during the whole call, at most those that may have existed at some time of it."""
    reported: dict[str, list[int]] = defaultdict(list)
    for call in evidence.called("start", "delete"):
        if call.outcome == "ok" and call.ended is not None:
            for chain in call.facts["found"] if call.op == "start" else call.facts.get("deleted", call.args["chains"]):
                reported[chain].append(call.ended)
    created, removed = Moments(), Moments()
    for changes in evidence.by_job.values():
        for place, change in enumerate(changes):
            if change.before is None or change.after is None:
                moments = created if change.before is None else removed
                moments.earliest.append(change.at)
                # Continuations are not created by a call.
                whose = reported[change.chain] if change.after is None or not change.index else []
                moments.latest.append(committed_by(changes, place, whose))
    created.sort()
    removed.sort()
    widest = 0
    for call in evidence.called("stats"):
        if call.outcome == "ok" and call.ended is not None:
            least = created.certainly(call.begun) - removed.possibly(call.ended)
            most = created.possibly(call.ended) - removed.certainly(call.begun)
            total = call.facts["total"]
            tally.expect(least <= total <= most, f"a snapshot shows {total} jobs, expected {least} to {most}")
            widest = max(widest, most - least)
    tally.counts["most jobs that a snapshot may be off"] = widest
