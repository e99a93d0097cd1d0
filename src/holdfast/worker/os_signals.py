"""SIGTERM and SIGINT, for every worker that runs on a loop."""

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
    """Have `stop` called at each of these signals, where this is the main thread: elsewhere none arrive.

    A loop has one handler per signal, so several workers in one process share it.
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
