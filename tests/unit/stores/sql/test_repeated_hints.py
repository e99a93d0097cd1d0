"""Hints of transactions without a commit hook."""

from __future__ import annotations

import threading

import pytest

from holdfast.engine.wakeups import Hints
from holdfast.stores.sql import repeated_hints
from holdfast.stores.sql.repeated_hints import RepeatedHints

TIMEOUT = 60.0


class Received:
    def __init__(self) -> None:
        self.hints: list[Hints] = []
        self._more = threading.Condition()

    def __call__(self, hints: Hints) -> None:
        with self._more:
            self.hints.append(hints)
            self._more.notify()

    def wait(self, times: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.hints) >= times, TIMEOUT)


def test_a_hint_is_sent_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_hints, "DELAYS", (0.01, 0.02, 0.03))
    received = Received()
    repeated = RepeatedHints(received)

    repeated.add(Hints(due={"resize"}))
    received.wait(1)
    for thread in threading.enumerate():
        if thread.name == "holdfast-repeated-hints":  # ends by itself
            thread.join(TIMEOUT)
            assert not thread.is_alive()

    # A late thread may send two at once.
    assert 1 <= len(received.hints) <= 3
    assert all(hints == Hints(due={"resize"}) for hints in received.hints)


def test_hints_within_the_first_delay_are_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_hints, "DELAYS", (3600.0, 3601.0))
    received = Received()
    repeated = RepeatedHints(received)

    repeated.add(Hints(due={"a"}))
    repeated.add(Hints(due={"b"}))
    repeated.close()
    repeated.close()

    assert received.hints == [Hints(due={"a", "b"})]
