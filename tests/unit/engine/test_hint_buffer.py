"""Hints on their way out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.engine.hint_buffer import LONGEST_PAUSE, MOST, Gap, Gathered
from holdfast.engine.wakeups import Hints


def test_what_is_gathered_is_taken_together_and_once() -> None:
    gathered = Gathered()

    first = gathered.add(Hints(due={"a"}))
    second = gathered.add(Hints(due={"b"}, finished={"c"}, recorded=True))

    assert (first, second, bool(gathered)) == (True, False, True)
    assert gathered.take() == Hints(due={"a", "b"}, finished={"c"}, recorded=True)
    assert not gathered
    assert not gathered.take()
    assert not gathered.add(Hints())


def test_what_waits_for_ever_does_not_fill_the_memory() -> None:
    gathered = Gathered()

    for number in range(MOST + 10):
        gathered.add(Hints(due={"a"}, finished={str(number)}))

    hints = gathered.take()
    assert hints.anything
    assert hints.due == {"a"}
    assert len(hints.finished) < 10


def test_the_gap_grows_in_a_flood_and_closes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("holdfast.engine.hint_buffer.time", SimpleNamespace(monotonic=lambda: now))
    gap, waits = Gap(), list[float]()

    for _ in range(10):
        gap.sent()
        waits.append(gap.wait())
        now += gap.wait()
    now += 1
    gap.sent()

    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[-1] == pytest.approx(LONGEST_PAUSE)
    assert gap.over()


def test_messages_of_several_hints_count_as_a_flood_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("holdfast.engine.hint_buffer.time", SimpleNamespace(monotonic=lambda: now))
    waited_for, flooded = Gap(), Gap()

    for _ in range(10):
        now += 0.005
        waited_for.sent()
        flooded.sent(several=True)

    assert waited_for.over()
    assert flooded.wait() == pytest.approx(LONGEST_PAUSE)
