"""SIGTERM and SIGINT stop every worker that runs on an event loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

NUMBERS = (signal.SIGTERM, signal.SIGINT)

_stops: list[Callable[[], None]] = []


@contextmanager
def on_signals(stop: Callable[[], None]) -> Generator[None]:
    """Call `stop` for each of these signals. Does nothing outside the main thread: only that one receives signals.

    An event loop has one handler per signal, so several workers in one process share it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    if not _stops:
        for number in NUMBERS:
            loop.add_signal_handler(number, _stop_all)
    _stops.append(stop)
    try:
        yield
    finally:
        _stops.remove(stop)
        if not _stops:
            for number in NUMBERS:
                loop.remove_signal_handler(number)


def _stop_all() -> None:
    for stop in _stops:
        stop()
