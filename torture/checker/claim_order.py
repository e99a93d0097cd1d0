"""Whether due jobs are claimed in order: only jobs before a job in the order may delay it for long."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from torture.audit import Change
from torture.checker.transitions import is_claim, timeline
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.flow_jobs import LANED
from torture.spans import Span, Spans

SLOWEST_PACE = 20.0
"""The lowest number of claims per second of all workers together, while some are killed."""
LONG = 5.0
"""Seconds for which a job must be due before later claims are counted."""
MOST_OVERTAKEN = 1000
"""Later jobs that may be claimed before a job whose row is locked or whose transaction is still open."""
ELSEWHERE = ("elastic", "approval", "stepwise", *LANED)
"""Types that the run's own workers never claim, and types whose claims depend on lanes."""

Position = tuple[int, int, int]
"""Position in the order of claims: priority (highest first), due time, time of creation."""


class ClaimOrder:
    """The claims of a run ordered by time, each with the position of its job."""

    def __init__(self, claims: list[tuple[int, Position]]) -> None:
        self._positions = [position for _, position in claims]
        self._moments = [at for at, _ in claims]

    def claimed(self, begun: int, ended: int) -> list[Position]:
        return self._positions[bisect_left(self._moments, begun) : bisect_left(self._moments, ended)]


def check_claim_order(tally: Tally, evidence: Evidence) -> list[float]:
    """Check how long jobs were due before they were claimed, cancelled or deleted; returns the waits before claims.

    The limit is a fixed time plus the time for the claims of jobs with an earlier position. Claims of jobs with a later
    position do not extend it, and their number is limited too.
    """
    waiting = _Waiting(evidence)
    waits: list[float] = []
    for job_id, changes in evidence.by_job.items():
        if changes[0].type in ELSEWHERE:
            continue
        due: int | None = None
        for change in changes:
            if change.before == "pending" and change.after != "pending" and due is not None:
                wait = waiting.measure(change, due)
                if is_claim(change):
                    waits.append(wait.seconds)
                    tally.expect_soon(evidence.facts.timely, wait.in_order, f"{job_id}: {wait}: {timeline(changes)}")
                elif not wait.in_order and evidence.facts.timely:
                    tally.broken(f"{job_id}: {wait}: {timeline(changes)}")
                due = None
            if change.after == "pending" and (change.before != "pending" or _moved(change)):
                due = max(change.at, change.scheduled_at or 0)
    tally.counts["most that overtook a job"] = waiting.most_overtaken
    return waits


class _Wait(NamedTuple):
    """How long a job was due, how long it may be, and how many later jobs were claimed in this time."""

    seconds: float
    bound: float
    overtaken: int

    @property
    def in_order(self) -> bool:
        return self.seconds <= self.bound and self.overtaken <= MOST_OVERTAKEN

    def __str__(self) -> str:
        return f"due for {self.seconds:.1f} s, bound {self.bound:g} s, overtaken by {self.overtaken}"


class _Waiting:
    """Measures the waits of due jobs, without the time in which they could not be claimed."""

    def __init__(self, evidence: Evidence) -> None:
        self._while_idle = 10 * (evidence.facts.lease + evidence.facts.poll) + evidence.facts.slack
        self._made = {job_id: changes[0].seq for job_id, changes in evidence.by_job.items()}
        claims = sorted(
            (change.at, _position(change, self._made))
            for change in evidence.changes
            if is_claim(change) and change.type not in ELSEWHERE
        )
        self._order = ClaimOrder(claims)
        self._idle = Spans([*evidence.outages.all, *evidence.no_worker.all])
        self._paused = Spans([*self._idle.all, *_pauses(evidence)])
        self._counting = {
            spans: ClaimOrder([each for each in claims if not spans.within(each[0], each[0] + 1)])
            for spans in (self._idle, self._paused)
        }
        self.most_overtaken = 0

    def measure(self, change: Change, due: int) -> _Wait:
        excuses = self._paused if change.type == "keyed" else self._idle
        seconds = (change.at - due - excuses.within(due, change.at)) / 1e6
        bound, overtaken, position = self._while_idle, 0, _position(change, self._made)
        if seconds > bound:  # rare, so the count is computed only here
            bound += sum(other < position for other in self._order.claimed(due, change.at)) / SLOWEST_PACE
        if seconds > LONG:
            overtaken = sum(other > position for other in self._counting[excuses].claimed(due, change.at))
            self.most_overtaken = max(self.most_overtaken, overtaken)
        return _Wait(seconds, bound, overtaken)


def _position(change: Change, made: dict[str, int]) -> Position:
    """The position of a job when it was claimed."""
    return -change.priority, change.scheduled_before or 0, made[change.id]


def _moved(change: Change) -> bool:
    return change.scheduled_before != change.scheduled_at


def _pauses(evidence: Evidence) -> list[Span]:
    """When the type `keyed` may have been paused: until a resume certainly succeeded."""
    resumed = sorted(call.ended or 0 for call in evidence.called("resume") if call.outcome == "ok")
    spans: list[Span] = []
    for call in evidence.called("pause"):
        position = bisect_left(resumed, call.ended or call.begun)
        spans.append((call.begun, resumed[position] if position < len(resumed) else evidence.facts.ended))
    return spans
