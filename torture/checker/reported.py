"""Whether a worker learns that its job was cancelled, or completed from outside, while it ran it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from torture.audit import Change
from torture.checker.execution import TICK, spread
from torture.checker.telling import story
from torture.checker.verdict import Tally
from torture.evidence import Evidence


def check_reported(tally: Tally, evidence: Evidence, taken: list[Change]) -> None:
    """Each of these took a job from a handler. Its worker is told within the bound, for as long as it lives.

    That its own outcome was refused when it was over anyway does not count as being told.
    """
    begun = {(note.process, note.facts["job"], note.facts["token"]) for note in evidence.noted("handler")}
    learned, over = _moments(evidence)
    bound = evidence.facts.lease + evidence.facts.slack
    waits: list[float] = []
    for change in taken:
        worker = change.worker_before or ""
        last = evidence.last_beat(worker)
        if last is None or (worker, change.id, change.token_before) not in begun:
            continue  # nobody ran it, or nobody knows
        reported = _after(learned[worker, change.id], change.at)
        ended = _after(over[worker, change.id], change.at)
        moment = min((each for each in (reported, ended) if each is not None), default=max(last, change.at))
        waited = (moment - change.at - evidence.still(worker, change.at, moment)) / 1e6
        if waited <= bound and moment != reported:
            continue  # it was over, or the worker was, before anybody had to be told
        waits += [waited] if moment == reported else []
        how = "was told" if moment == reported else "had not been told"
        text = f"{change.id}: {worker} {how} {waited:.1f} s after its job was taken"
        tally.expect_soon(evidence.facts.timely, waited <= bound, f"{text}: {story(evidence.by_job[change.id])}")
    tally.counts |= spread("seconds until its worker was told", waits)
    tally.counts["workers told"] = len(waits)
    if evidence.facts.supervised and not waits:
        tally.opportunities = 0  # in a long run some go on for long enough that a worker has to be told


Moments = dict[tuple[str, str], list[int]]


def _moments(evidence: Evidence) -> tuple[Moments, Moments]:
    """When each worker was told that it had lost a job, and when its handler came to write what had come of one."""
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
