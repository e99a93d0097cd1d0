from __future__ import annotations

from itertools import pairwise

import pytest

from holdfast.stores.sqlite.wakeups.recheck_schedule import DELAYS, GAP, RecheckSchedule


def looks(schedule: RecheckSchedule) -> list[float]:
    times: list[float] = []
    while schedule.due is not None:
        times.append(schedule.due)
        schedule.checked(schedule.due)
    return times


def test_one_change_causes_several_checks_within_one_second() -> None:
    schedule = RecheckSchedule()

    schedule.changed(10.0)

    times = looks(schedule)
    assert len(times) == len(DELAYS)
    assert times[0] == 10.0 + DELAYS[0]
    assert times[-1] == pytest.approx(11.0)


def test_a_further_change_restarts_the_schedule() -> None:
    schedule = RecheckSchedule()
    schedule.changed(10.0)
    for _ in range(6):
        assert schedule.due is not None
        schedule.checked(schedule.due)

    schedule.changed(10.2)

    times = looks(schedule)
    assert len(times) == len(DELAYS)
    assert times[0] == 10.2 + DELAYS[0]


def test_continuous_changes_cause_one_check_per_gap() -> None:
    schedule = RecheckSchedule()
    times: list[float] = []

    for tick in range(1000):
        now = tick * 0.0001
        schedule.changed(now)
        if schedule.due is not None and schedule.due <= now:
            times.append(now)
            schedule.checked(now)

    assert len(times) >= 15
    assert min(later - earlier for earlier, later in pairwise(times)) >= GAP - 1e-9
