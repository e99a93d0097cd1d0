"""Whether a worker detects that its job was cancelled, or completed from outside, while the handler runs."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from torture.audit import Change
from torture.checker.execution import TICK, spread
from torture.checker.transitions import timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence


def check_reported(tally: Tally, evidence: Evidence, taken: list[Change]) -> None:
    """Each of these changes ended the claim of a running handler. Its worker, if it lives, detects that in time.

    A refused settlement at the end of the handler does not count as detection.
    """
    begun = {(note.process, note.facts["job"], note.facts["token"]) for note in evidence.noted("handler")}
    learned, over = _moments(evidence)
    bound = evidence.facts.lease + evidence.facts.slack
    waits: list[float] = []
    for change in taken:
        worker = change.worker_before or ""
        last = evidence.last_beat(worker)
        if last is None or (worker, change.id, change.token_before) not in begun:
            continue  # no handler ran, or there is no record of it
        reported = _after(learned[worker, change.id], change.at)
        ended = _after(over[worker, change.id], change.at)
        moment = min((each for each in (reported, ended) if each is not None), default=max(last, change.at))
        waited = (moment - change.at - evidence.still(worker, change.at, moment)) / 1e6
        if waited <= bound and moment != reported:
            continue  # the handler or the worker ended before the limit
        waits += [waited] if moment == reported else []
        how = "detected" if moment == reported else "had not detected"
        text = f"{change.id}: {worker} {how} the lost claim {waited:.1f} s after it was lost"
        tally.expect_soon(evidence.facts.timely, waited <= bound, f"{text}: {timeline(evidence.by_job[change.id])}")
    tally.counts |= spread("seconds until the worker detects a lost claim", waits)
    tally.counts["lost claims detected"] = len(waits)
    if evidence.facts.supervised and not waits:
        tally.opportunities = 0  # in a long run some handlers run long enough for a detection


Moments = dict[tuple[str, str], list[int]]


def _moments(evidence: Evidence) -> tuple[Moments, Moments]:
    """When each worker detected a lost claim, and when it tried to settle or guard a job."""
    learned: Moments = defaultdict(list)
    over: Moments = defaultdict(list)
    for note in evidence.noted("stale", "settled", "event"):
        if note.what == "settled" or note.facts.get("verb") == "guard":
            over[note.process, note.facts["job"]].append(note.at)
        elif note.what == "stale" or note.facts["kind"] == "lost":
            learned[note.process, note.facts["job"]].append(note.at)
    return learned, over


def _after(times: list[int], moment: int) -> int | None:
    place = bisect_left(times, moment - TICK)
    return times[place] if place < len(times) else None
