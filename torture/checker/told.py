"""Whether a worker learns that its job was cancelled, or completed from outside, while it ran it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from torture.audit import Change
from torture.checker.execution import TICK, spread
from torture.checker.telling import story
from torture.checker.verdict import Tally
from torture.evidence import Evidence


def check_told(tally: Tally, evidence: Evidence, taken: list[Change]) -> None:
    """Each of these took a job from a handler. Its worker is told within the bound, for as long as it lives."""
    begun = {(note.process, note.facts["job"], note.facts["token"]) for note in evidence.noted("handler")}
    learned: dict[tuple[str, str], list[int]] = defaultdict(list)
    for note in evidence.noted("stale", "settled", "event"):
        if note.what != "event" or note.facts["kind"] == "lost":
            learned[note.process, note.facts["job"]].append(note.at)
    bound = evidence.facts.lease + evidence.facts.slack
    waits: list[float] = []
    for change in taken:
        worker = change.worker_before or ""
        last = evidence.last_beat(worker)
        if last is None or (worker, change.id, change.token_before) not in begun:
            continue  # nobody ran it, or nobody knows
        times = learned[worker, change.id]
        place = bisect_left(times, change.at - TICK)
        moment = times[place] if place < len(times) else max(last, change.at)
        waited = (moment - change.at - evidence.still(worker, change.at, moment)) / 1e6
        waits += [waited] if place < len(times) else []
        how = "was told" if place < len(times) else "had not been told"
        told = (
            f"{change.id}: {worker} {how} {waited:.1f} s after its job was taken: {story(evidence.by_job[change.id])}"
        )
        tally.expect_soon(evidence.facts.timely, waited <= bound, told)
    tally.counts |= spread("seconds until its worker was told", waits)
