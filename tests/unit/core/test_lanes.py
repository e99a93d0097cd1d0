"""Which jobs a claim takes from lanes, and GCRA."""

from __future__ import annotations

import pytest

from holdfast.core.clock import SECOND, Micros
from holdfast.core.lane_choice import choose
from holdfast.core.lanes import Lane, Track, WaitingJob, interval, job_lanes, rate_allows_at
from holdfast.testing.lanes import limit

BURST = 5

# The facts of the table in the test of throttled/throttled: at this second, a request of this volume is refused or not,
# and this many seconds pass until the theoretical arrival time.
GCRA = [
    (0.0, 6, True, 0.0),
    (0.0, 1, False, 1.0),
    (0.0, 1, False, 2.0),
    (0.0, 1, False, 3.0),
    (0.0, 1, False, 4.0),
    (0.0, 1, False, 5.0),
    (0.0, 1, True, 5.0),
    (3.0, 1, False, 3.0),
    (3.1, 1, False, 3.9),
    (4.0, 1, False, 4.0),
    (8.0, 1, False, 1.0),
    (9.5, 1, False, 1.0),
    (9.5, 0, False, 1.0),
    (9.5, 2, False, 3.0),
    (9.5, 5, True, 3.0),
    (15.0, 6, True, 0.0),
]


def test_gcra_agrees_with_the_table_of_throttled() -> None:
    lane, track = Lane("api\x1f", "rate", 1, per=SECOND, burst=BURST), _track("t", "api")
    for case, (second, volume, refused, reset) in enumerate(GCRA):
        now: Micros = round(second * SECOND)
        job = WaitingJob(1, "a", "a", weights={lane.id: volume})

        assert lane.allows(track, job, now) is not refused, case

        if not refused:
            lane.take(track, job, now)
        assert max(0, lane.tat - now) == round(reset * SECOND), case


def test_a_refused_attempt_learns_when_it_is_allowed() -> None:
    lane = Lane("api\x1f", "rate", 1, per=SECOND, burst=BURST, tat=5 * SECOND)

    assert not lane.allows(_track("t", "api"), WaitingJob(1, "a", "a"), 0)
    assert lane.wake_at == SECOND
    assert rate_allows_at(5 * SECOND, 0, number=1, per=SECOND, burst=BURST, weight=3) == 3 * SECOND


@pytest.mark.parametrize("number", [1, 3, 7, 11, 1000])
def test_a_rate_is_never_exceeded_by_rounding(number: int) -> None:
    assert interval(number, number=number, per=SECOND) == SECOND
    assert interval(1, number=number, per=SECOND) * number >= SECOND


def test_the_track_depends_on_type_priority_and_lanes_only() -> None:
    lanes = (limit(1, key="a"),)

    assert job_lanes("t", 0, lanes, lanes[0].lane).track == job_lanes("t", 0, (limit(9, key="a"),), lanes[0].lane).track
    others = {
        job_lanes(type, priority, (limit(1, key=key),), "").track
        for type in "tu"
        for priority in (0, 1)
        for key in "ab"
    }
    assert len(others) == 8


def test_a_job_takes_all_of_its_lanes_or_none() -> None:
    lanes = {"a": Lane("a", "limit", 5), "b": Lane("b", "limit", 1, running=1)}
    track = _track("t", "a", "b")

    choice = choose([track], lanes, [], limit=9, now=0, lanes_next=True)

    assert (choice.taken, choice.parked, lanes["a"].running) == ([], {"t": "b"}, 0)


def test_higher_priorities_come_first_and_equal_ones_alternate() -> None:
    lanes = {"a": Lane("a", "limit", 9), "b": Lane("b", "limit", 9)}
    high, low = _track("high", "a", priority=1), _track("low", "b")

    choice = choose([high, low], lanes, [1, 0, 0, 0], limit=7, now=0, lanes_next=False)

    assert [track.id for track, _ in choice.taken] == ["high", "high", "high", "low"]
    assert choice.plain == 3


def _track(id: str, *lanes: str, priority: int = 0) -> Track:
    jobs = [WaitingJob(number, f"{id}-{number}", f"{id}-{number}") for number in range(3)]
    return Track(id, "resize", priority, lanes[0], lanes, jobs)
