"""Whether each due job has its turn: those before it by the store's order may go first, and nobody else for long."""

from __future__ import annotations

from bisect import bisect_left

from torture.audit import Change
from torture.checker.telling import is_claim, story
from torture.checker.verdict import Tally
from torture.evidence import Evidence
from torture.spans import Span, Spans

SLOWEST_PACE = 20.0
"""Claims a second, at the least, of a whole fleet that is being killed."""
LONG = 5.0
"""Seconds that a job is due before it is asked who was claimed meanwhile."""
MOST_OVERTAKEN = 1000
"""Later ones that may be claimed before a job which somebody has locked, or whose transaction is still open."""
ELSEWHERE = ("elastic", "approval")
"""Types that the run's own workers never claim."""

Place = tuple[int, int, int]
"""In the line: higher priority first, then scheduled earlier, then made earlier."""


class Line:
    """The claims of a run in the order in which they were made, each with its place in the line of those that wait."""

    def __init__(self, claims: list[tuple[int, Place]]) -> None:
        self._places = [place for _, place in claims]
        self._moments = [at for at, _ in claims]

    def claimed(self, begun: int, ended: int) -> list[Place]:
        return self._places[bisect_left(self._moments, begun) : bisect_left(self._moments, ended)]


def check_turns(tally: Tally, evidence: Evidence) -> list[float]:
    """Judge how long jobs were due until somebody claimed them, or they were cancelled or deleted; answers the waits.

    The bound is a while, and what it takes to claim those that stood before it in the line and were claimed meanwhile.
    Whoever came after it adds nothing: overtaken by those, it is late all the same; and very many may not overtake it,
    however quickly that goes.
    """
    while_idle = 10 * (evidence.facts.lease + evidence.facts.poll) + evidence.facts.slack
    made = {job_id: changes[0].seq for job_id, changes in evidence.by_job.items()}
    claims = sorted(
        (change.at, _place(change, made))
        for change in evidence.changes
        if is_claim(change) and change.type not in ELSEWHERE
    )
    line = Line(claims)
    idle = Spans([*evidence.outages.all, *evidence.nobody.all])
    paused = Spans([*idle.all, *_pauses(evidence)])
    counting = {
        spans: Line([each for each in claims if not spans.within(each[0], each[0] + 1)]) for spans in (idle, paused)
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
                bound, overtaken, place = while_idle, 0, _place(change, made)
                if waited > bound:  # seldom: only then is it worth counting
                    bound += sum(other < place for other in line.claimed(due, change.at)) / SLOWEST_PACE
                if waited > LONG:
                    overtaken = sum(other > place for other in counting[excuses].claimed(due, change.at))
                    most = max(most, overtaken)
                reported = (
                    f"{job_id}: due for {waited:.1f} s, bound {bound:g} s, overtaken by {overtaken}: {story(changes)}"
                )
                in_turn = waited <= bound and overtaken <= MOST_OVERTAKEN
                if is_claim(change):
                    waits.append(waited)
                    tally.expect_soon(evidence.facts.timely, in_turn, reported)
                elif not in_turn and evidence.facts.timely:
                    tally.broken(reported)
                due = None
            if change.after == "pending" and (change.before != "pending" or _moved(change)):
                due = max(change.at, change.scheduled_at or 0)
    tally.counts["most that overtook a job"] = most
    return waits


def _place(change: Change, made: dict[str, int]) -> Place:
    """Where a job stood in the line when it left it."""
    return -change.priority, change.scheduled_before or 0, made[change.id]


def _moved(change: Change) -> bool:
    return change.scheduled_before != change.scheduled_at


def _pauses(evidence: Evidence) -> list[Span]:
    """When the one type that is ever paused may have been: until somebody resumed it for certain."""
    resumed = sorted(call.ended or 0 for call in evidence.called("resume") if call.outcome == "ok")
    spans: list[Span] = []
    for call in evidence.called("pause"):
        place = bisect_left(resumed, call.ended or call.begun)
        spans.append((call.begun, resumed[place] if place < len(resumed) else evidence.facts.ended))
    return spans
