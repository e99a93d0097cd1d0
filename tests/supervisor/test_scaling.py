"""How many processes there should be: a pure function of what is due and what time it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.supervisor.group import Group
from holdfast.supervisor.scaling import Scaler, processes_for

GROUP = Group(default_count=2, max_count=8, concurrency=10, scale_down_after=15)


@pytest.mark.parametrize(
    ("due", "processes"), [(0, 2), (1, 2), (20, 2), (21, 3), (50, 5), (80, 8), (81, 8), (10**6, 8)]
)
def test_one_process_is_wanted_per_concurrency_of_due_jobs_within_bounds(due: int, processes: int) -> None:
    assert processes_for(due, GROUP) == processes


def test_a_backlog_is_answered_at_once() -> None:
    scaler = Scaler(GROUP)

    assert scaler.decide(1000, busy=0, now=0) == 8


def test_fewer_are_kept_only_after_fewer_were_enough_for_a_while() -> None:
    scaler = Scaler(GROUP)
    scaler.decide(1000, busy=0, now=0)

    assert scaler.decide(0, busy=0, now=1) == 8
    assert scaler.decide(0, busy=0, now=15.9) == 8
    assert scaler.decide(0, busy=0, now=16) == 2


def test_a_load_that_varies_does_not_start_and_stop_processes() -> None:
    scaler = Scaler(GROUP)

    targets = {scaler.decide(80 if second % 10 == 0 else 0, busy=0, now=second) for second in range(200)}

    assert targets == {8}


def test_what_remains_is_the_most_that_was_needed_meanwhile() -> None:
    scaler = Scaler(GROUP)
    scaler.decide(80, busy=0, now=0)

    for second, due in enumerate([10, 45, 10, 10], start=1):
        scaler.decide(due, busy=0, now=second)

    assert scaler.decide(10, busy=0, now=16) == 5


def test_a_busy_process_is_not_too_many() -> None:
    scaler = Scaler(GROUP)
    scaler.decide(80, busy=0, now=0)

    assert scaler.decide(0, busy=80, now=1) == 8
    assert scaler.decide(0, busy=80, now=100) == 8


def test_running_jobs_alone_start_no_process() -> None:
    scaler = Scaler(GROUP)

    assert scaler.decide(0, busy=80, now=0) == 2


def test_slots_full_of_long_jobs_do_not_starve_a_few_due_ones() -> None:
    scaler = Scaler(GROUP)

    assert scaler.decide(1, busy=20, now=0) == 3


def test_an_unknown_backlog_changes_nothing_and_is_no_proof_that_less_would_do() -> None:
    scaler = Scaler(GROUP)
    scaler.decide(80, busy=0, now=0)
    scaler.decide(0, busy=0, now=1)

    assert scaler.decide(None, busy=0, now=100) == 8
    assert scaler.decide(0, busy=0, now=101) == 8
    assert scaler.decide(0, busy=0, now=116) == 2


def test_new_bounds_hold_at_once() -> None:
    scaler = Scaler(GROUP)
    scaler.decide(80, busy=0, now=0)

    scaler.follow(Group(default_count=1, max_count=3))

    assert scaler.target == 3


def test_a_group_may_shrink_to_nothing() -> None:
    scaler = Scaler(Group(default_count=0, max_count=2, concurrency=10, scale_down_after=0))

    assert scaler.decide(0, busy=0, now=0) == 0
    assert scaler.decide(1, busy=0, now=1) == 1


@given(
    steps=st.lists(
        st.tuples(st.none() | st.integers(0, 500), st.integers(0, 200), st.floats(0, 20)), min_size=1, max_size=60
    )
)
def test_whatever_happens_the_target_stays_within_bounds_and_never_below_what_is_due(
    steps: list[tuple[int | None, int, float]],
) -> None:
    scaler, now = Scaler(GROUP), 0.0
    for due, busy, passed in steps:
        now += passed
        target = scaler.decide(due, busy=busy, now=now)
        assert GROUP.default_count <= target <= GROUP.max_count
        assert due is None or target >= processes_for(due, GROUP)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"default_count": 3, "max_count": 2}, "must not exceed"),
        ({"concurrency": 0}, "concurrency"),
        ({"lease": 0}, "lease"),
        ({"grace": -1}, "grace"),
        ({"types": ()}, "types of group 'default' is empty"),
        ({"queues": ()}, "queues of group 'default' is empty"),
        ({"name": "a b"}, "name"),
    ],
)
def test_impossible_groups_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Group(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
