"""Hints that wait to be sent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.engine.hint_buffer import LONGEST_PAUSE, MAX_IDS, HintBuffer, SendPause
from holdfast.engine.wakeups import Hints


def test_all_buffered_hints_are_taken_at_once() -> None:
    buffer = HintBuffer()

    first = buffer.add(Hints(due={"a"}))
    second = buffer.add(Hints(due={"b"}, finished={"c"}, recorded=True))

    assert (first, second, bool(buffer)) == (True, False, True)
    assert buffer.take() == Hints(due={"a", "b"}, finished={"c"}, recorded=True)
    assert not buffer
    assert not buffer.take()
    assert not buffer.add(Hints())


def test_the_buffer_replaces_many_ids_by_anything() -> None:
    buffer = HintBuffer()

    for number in range(MAX_IDS + 10):
        buffer.add(Hints(due={"a"}, finished={str(number)}))

    hints = buffer.take()
    assert hints.anything
    assert hints.due == {"a"}
    assert len(hints.finished) < 10


def test_the_pause_grows_at_a_high_rate_and_ends_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("holdfast.engine.hint_buffer.time", SimpleNamespace(monotonic=lambda: now))
    pause, waits = SendPause(), list[float]()

    for _ in range(10):
        pause.sent()
        waits.append(pause.wait())
        now += pause.wait()
    now += 1
    pause.sent()

    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[-1] == pytest.approx(LONGEST_PAUSE)
    assert pause.over()


def test_messages_with_several_hints_count_as_a_high_rate_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("holdfast.engine.hint_buffer.time", SimpleNamespace(monotonic=lambda: now))
    single, merged = SendPause(), SendPause()

    for _ in range(10):
        now += 0.005
        single.sent()
        merged.sent(several=True)

    assert single.over()
    assert merged.wait() == pytest.approx(LONGEST_PAUSE)
