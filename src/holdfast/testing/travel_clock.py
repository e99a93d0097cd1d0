"""A manual clock that freezegun and time-machine move."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Any

from holdfast.core.clock import Micros, to_micros
from holdfast.testing.clock import A_MOMENT, ManualClock


class TravelClock(ManualClock):
    """A manual clock. While freezegun or time-machine change the time, it follows them.

    The first read sets it to their time, and each later change moves it by the same amount. Without them it behaves as
    every manual clock: only `advance` and `move_to` change it.
    """

    def __init__(self, start: Micros = A_MOMENT) -> None:
        super().__init__(start)
        self._seen: Micros | None = None

    def __call__(self) -> Micros:
        with self._lock:
            travelled, seen = travelled_time(), self._seen
            self._seen = travelled
            if travelled is not None:
                # Subscribers are not called: a clock that ticks changes with each read.
                self._now = travelled if seen is None else self._now + travelled - seen
            return self._now


def travelled_time() -> Micros | None:
    """The time that freezegun or time-machine set; None if neither is active. It imports neither."""
    freezegun: Any = sys.modules.get("freezegun.api")
    if freezegun is not None and freezegun.freeze_factories:
        moment: datetime = freezegun.freeze_factories[-1]()
        return to_micros(moment.replace(tzinfo=UTC))
    time_machine: Any = sys.modules.get("time_machine")
    if time_machine is not None and time_machine.escape_hatch.is_travelling():
        return time.time_ns() // 1000
    return None
