"""Notices a blocked event loop and names the handler that blocks it."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from types import FrameType

from holdfast.observer import log
from holdfast.worker.holdings import Holding, Holdings, ticks

BEAT = 1.0
"""Seconds between two looks, while jobs are running."""


class Watchdog:
    """Asks the loop for a sign of life every second while handlers run; logs the stack when none comes in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, holdings: Holdings, *, patience: float) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._holdings = holdings
        self._patience = patience
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(BEAT):
            if not len(self._holdings):
                continue
            alive = threading.Event()
            asked = ticks()
            try:
                self._loop.call_soon_threadsafe(alive.set)
            except RuntimeError:  # the loop is closed
                return
            if not alive.wait(self._patience):
                self._report()
                while not alive.wait(BEAT):
                    if self._loop.is_closed():
                        return
                log.warning("the event loop runs again after %.1f s", ticks() - asked)

    def _report(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)  # pyright: ignore[reportPrivateUsage]
        if frame is None:
            return
        blocking = self._find(frame)
        name = "something" if blocking is None else f"the handler of {blocking.record.type!r}"
        fields = {} if blocking is None else {"holdfast_type": blocking.record.type}
        stack = "".join(traceback.format_stack(frame, limit=20))
        log.warning(
            "%s blocks the event loop for more than %.1f s; leases are still renewed, but nothing else runs. "
            "Make it a plain function (it then runs in a thread) or await instead of blocking.\n%s",
            name,
            self._patience,
            stack,
            extra={"holdfast_event": "loop_blocked", **fields},
        )

    def _find(self, frame: FrameType) -> Holding | None:
        codes = {getattr(holding.type.function, "__code__", None): holding for holding in self._holdings.all()}
        current: FrameType | None = frame
        while current is not None:
            if current.f_code in codes:
                return codes[current.f_code]
            current = current.f_back
        return None
