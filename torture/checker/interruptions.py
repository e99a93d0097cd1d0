"""Blocking clients after an interruption: their next calls succeed, and their process exits with 0."""

from __future__ import annotations

from torture.checker.execution import spread
from torture.checker.verdict import Tally
from torture.evidence import Evidence

BOUND = 8.0
"""Seconds in which a call after an interruption must succeed while the store is available; longer than any deadline."""


def check_interruptions(tally: Tally, evidence: Evidence) -> None:
    """Each interruption is an opportunity; a process that hangs, crashes or gets no answers any more is a violation."""
    since: dict[str, int] = {}
    seconds: list[float] = []
    for note in evidence.noted("interrupted", "works again"):
        if note.what == "interrupted":
            since[note.process] = note.at
            continue
        begun = since.pop(note.process)
        taken = _seconds(evidence, begun, note.at)
        seconds.append(taken)
        reported = f"{note.process}: after an interruption no call succeeded for {taken:.1f} s"
        tally.expect_soon(evidence.facts.timely, taken <= BOUND + evidence.facts.slack, reported)
    for process, begun in since.items():
        last = max(evidence.last_beat(process) or begun, begun)
        taken = _seconds(evidence, begun, last)
        reported = f"{process}: after an interruption no call succeeded any more, for {taken:.1f} s"
        tally.expect(taken <= BOUND, reported)
    for note in evidence.noted("producer exit"):
        if note.facts["process"].startswith("interrupted"):
            tally.expect(note.facts["code"] == 0, f"{note.facts['process']} ended with {note.facts['code']}")
    tally.counts |= spread("seconds from an interruption to the next call that succeeds", seconds)


def _seconds(evidence: Evidence, begun: int, ended: int) -> float:
    """From one time to another, without outages of the store."""
    return (ended - begun - evidence.away(begun, ended)) / 1e6
