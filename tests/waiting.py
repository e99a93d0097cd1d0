"""Waits for a state that sends no event, so it is polled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TIMEOUT = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)
