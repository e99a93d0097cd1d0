"""SIGTERM and SIGHUP end the demo as Ctrl-C does: its workers and its folder are removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Ending:
    """Records the signal that arrived.

    The signal handler raises nothing: a process may have been started and not recorded yet, so that nothing would end
    it. The scenario calls `check` wherever it waits.
    """

    def __init__(self) -> None:
        self._came: int | None = None

    def check(self) -> None:
        """Raise SystemExit if a signal arrived, with the exit code that a shell gives it."""
        if self._came is not None:
            raise SystemExit(128 + self._came)

    def receive(self, number: int, frame: FrameType | None) -> None:
        self._came = self._came or number


@contextmanager
def ending() -> Generator[Ending]:
    """Handle the signals while the body runs. Python runs signal handlers in the main thread only."""
    received = Ending()
    numbers = SIGNALS if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, received.receive) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
