"""Whether due jobs are claimed in order: only jobs before a job in the order may delay it for long."""

from __future__ import annotations

from bisect import bisect_left

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
    while_idle = 10 * (evidence.facts.lease + evidence.facts.poll) + evidence.facts.slack
    made = {job_id: changes[0].seq for job_id, changes in evidence.by_job.items()}
    claims = sorted(
        (change.at, _position(change, made))
        for change in evidence.changes
        if is_claim(change) and change.type not in ELSEWHERE
    )
    order = ClaimOrder(claims)
    idle = Spans([*evidence.outages.all, *evidence.no_worker.all])
    paused = Spans([*idle.all, *_pauses(evidence)])
    counting = {
        spans: ClaimOrder([each for each in claims if not spans.within(each[0], each[0] + 1)])
        for spans in (idle, paused)
    }
    waits: list[float] = []
    most = 0
    for job_id, changes in evidence.by_job.items():
        if changes[0].type in ELSEWHERE:
            continue
        due: int | None = None
        for change in changes:
            if change.before == "pending" and change.after != "pending" and due is not None:
                excuses = paused if change.type == "keyed" else idle
                waited = (change.at - due - excuses.within(due, change.at)) / 1e6
                bound, overtaken, position = while_idle, 0, _position(change, made)
                if waited > bound:  # rare, so the count is computed only here
                    bound += sum(other < position for other in order.claimed(due, change.at)) / SLOWEST_PACE
                if waited > LONG:
                    overtaken = sum(other > position for other in counting[excuses].claimed(due, change.at))
                    most = max(most, overtaken)
                reported = f"{job_id}: due for {waited:.1f} s, bound {bound:g} s, overtaken by {overtaken}: "
                reported += timeline(changes)
                in_order = waited <= bound and overtaken <= MOST_OVERTAKEN
                if is_claim(change):
                    waits.append(waited)
                    tally.expect_soon(evidence.facts.timely, in_order, reported)
                elif not in_order and evidence.facts.timely:
                    tally.broken(reported)
                due = None
            if change.after == "pending" and (change.before != "pending" or _moved(change)):
                due = max(change.at, change.scheduled_at or 0)
    tally.counts["most that overtook a job"] = most
    return waits


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
