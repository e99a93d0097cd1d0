"""The manual clock."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from holdfast.core.clock import SECOND
from holdfast.testing.clock import A_MOMENT, ManualClock


def test_the_clock_changes_only_when_it_is_moved() -> None:
    clock = ManualClock()

    assert clock() == clock() == A_MOMENT
    assert clock.advance(1.5) == clock() == A_MOMENT + 1_500_000
    assert clock.advance(timedelta(minutes=1)) == A_MOMENT + 61_500_000


def test_the_clock_advances_only_forward_but_can_be_set_back() -> None:
    clock = ManualClock(10 * SECOND)

    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)
    assert clock.move_to(5 * SECOND) == clock() == 5 * SECOND


def test_subscribers_are_called_after_each_move_until_they_unsubscribe() -> None:
    clock, seen = ManualClock(0), list[int]()
    leave = clock.subscribe(lambda: seen.append(clock()))

    clock.advance(1)
    clock.move_to(7)
    leave()
    leave()
    clock.advance(1)

    assert seen == [SECOND, 7]


def test_a_waiter_in_another_thread_wakes_when_time_moves() -> None:
    clock, moved = ManualClock(), threading.Event()
    clock.subscribe(moved.set)
    waiter = threading.Thread(target=moved.wait, args=(20,))
    waiter.start()

    clock.advance(1)
    waiter.join()

    assert moved.is_set()
