"""A clock that blocks its caller until the test allows it to continue."""

from __future__ import annotations

import threading

from holdfast.core.clock import Micros, system_clock


class SlowClock:
    """Blocks once, so that an operation of the store stays in progress."""

    def __init__(self) -> None:
        self.slow = False
        self.asked, self.given = threading.Event(), threading.Event()

    def __call__(self) -> Micros:
        if self.slow:
            self.slow = False
            self.asked.set()
            self.given.wait(60)
        return system_clock()
