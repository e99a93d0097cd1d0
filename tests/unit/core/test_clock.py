"""Microseconds and datetimes."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.core.clock import SECOND, duration, system_clock, to_datetime, to_micros


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 2, 28, 12, 30, 15, 123457, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
)
def test_every_microsecond_comes_back(moment: datetime) -> None:
    assert to_datetime(to_micros(moment)) == moment


def test_any_time_zone_is_the_same_moment() -> None:
    here = datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))

    assert to_micros(here) == to_micros(datetime(2026, 1, 1, tzinfo=UTC))
    assert to_datetime(to_micros(here)).tzinfo is UTC


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_micros(datetime(2026, 1, 1))  # noqa: DTZ001  (it is what is refused)


def test_seconds_are_rounded_to_whole_microseconds() -> None:
    assert (duration(1), duration(0.1), duration(1.0000004), duration(-0.5)) == (SECOND, 100_000, SECOND, -500_000)


def test_the_system_clock_is_the_machines() -> None:
    before = time.time()

    assert before - 0.001 <= system_clock() / SECOND <= time.time() + 0.001
