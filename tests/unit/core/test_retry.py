"""Backoff."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast.core.retry import Retry, seconds


def test_the_default_is_ten_seconds_doubling_up_to_five_minutes() -> None:
    delays = [Retry().delay(attempt, spread=lambda: 0.5) for attempt in (1, 2, 3, 5, 6, 100)]

    assert delays == [10, 20, 40, 160, 300, 300]
    assert Retry().max_attempts == 25


def test_jitter_spreads_to_both_sides_after_the_cap() -> None:
    retry = Retry(initial=100, maximum=100, jitter=0.1)

    assert retry.delay(9, spread=lambda: 0.0) == pytest.approx(90)
    assert retry.delay(9, spread=lambda: 1.0) == pytest.approx(110)


def test_jitter_is_different_each_time() -> None:
    assert len({Retry().delay(1) for _ in range(50)}) > 1


def test_so_many_attempts_that_the_power_overflows_wait_the_maximum() -> None:
    assert Retry(jitter=0).delay(10_000) == 300


def test_times_are_numbers_or_timedeltas() -> None:
    assert Retry(initial=timedelta(seconds=2), maximum=timedelta(minutes=1), jitter=0).delay(2) == 4
    assert (seconds(1), seconds(timedelta(milliseconds=1500))) == (1.0, 1.5)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: Retry(initial=-1), "negative"),
        (lambda: Retry(maximum=-1), "negative"),
        (lambda: Retry(multiplier=0.5), "multiplier"),
        (lambda: Retry(jitter=1.5), "jitter"),
        (lambda: Retry(jitter=-0.1), "jitter"),
        (lambda: Retry(max_attempts=0), "max_attempts"),
        (lambda: Retry(max_attempts=2**31), "max_attempts"),
        (lambda: Retry(initial=float("nan")), "initial"),
        (lambda: Retry(maximum=float("nan")), "maximum"),
        (lambda: Retry(maximum=float("inf")), "maximum"),
        (lambda: Retry(multiplier=float("nan")), "multiplier"),
        (lambda: Retry(initial=0, multiplier=float("inf")), "multiplier"),
        (lambda: Retry(jitter=float("nan")), "jitter"),
    ],
)
def test_invalid_values_are_refused(wrong: Callable[[], Retry], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        {"initial": "1"},
        {"maximum": None},
        {"multiplier": "2"},
        {"multiplier": timedelta(seconds=2)},
        {"jitter": True},
        {"max_attempts": "5"},
        {"max_attempts": 2.5},
        {"max_attempts": True},
    ],
)
def test_values_of_the_wrong_type_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"Retry: {next(iter(wrong))} must be"):
        Retry(**wrong)


def test_max_attempts_may_be_unlimited() -> None:
    assert Retry(max_attempts=None).max_attempts is None
