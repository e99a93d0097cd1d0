"""Hints of commits that nobody tells of."""

from __future__ import annotations

import threading

import pytest

from holdfast.sql import echo
from holdfast.sql.echo import Echo
from holdfast.wakeups import Hints

PATIENCE = 20.0


class Heard:
    def __init__(self) -> None:
        self.hints: list[Hints] = []
        self._more = threading.Condition()

    def __call__(self, hints: Hints) -> None:
        with self._more:
            self.hints.append(hints)
            self._more.notify()

    def wait(self, times: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.hints) >= times, PATIENCE)


def test_a_hint_is_said_again_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "DELAYS", (0.01, 0.02, 0.03))
    heard = Heard()
    said = Echo(heard)

    said.add(Hints(due={"resize"}))
    heard.wait(1)
    for thread in threading.enumerate():
        if thread.name == "holdfast-echo":  # ends by itself
            thread.join(PATIENCE)
            assert not thread.is_alive()

    # Late, it may say two at once.
    assert 1 <= len(heard.hints) <= 3
    assert all(hints == Hints(due={"resize"}) for hints in heard.hints)


def test_what_comes_together_is_said_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "DELAYS", (3600.0, 3601.0))
    heard = Heard()
    said = Echo(heard)

    said.add(Hints(due={"a"}))
    said.add(Hints(due={"b"}))
    said.close()
    said.close()

    assert heard.hints == [Hints(due={"a", "b"})]
