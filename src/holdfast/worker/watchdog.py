"""Notices a blocked event loop and names the handler that blocks it."""

from __future__ import annotations

import asyncio
import linecache
import sys
import threading
import traceback
from types import FrameType

from holdfast.engine.observers import log
from holdfast.worker.held_claims import Holding, Holdings, ticks

BEAT = 1.0
"""Seconds between two looks, while jobs are running."""
MOST_LINES = 8
"""Of a stack that is logged."""


class Watchdog:
    """Asks the loop for a sign of life every second while handlers run; logs where it is when none comes in time."""

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
        blocking, stack = self._find(frame)
        name = "something" if blocking is None else f"the handler of {blocking.record.type!r}"
        fields = {} if blocking is None else {"holdfast_type": blocking.record.type}
        # Where the handler is; of something else only where it is by now can mean anything.
        place = stack[0] if blocking is not None else stack[-1]
        log.warning(
            "%s blocks the event loop for more than %.1f s, at %s. Leases are still renewed, but nothing else runs: "
            "make it a plain function (it then runs in a thread), or await instead of blocking",
            name,
            self._patience,
            place,
            extra={"holdfast_event": "loop_blocked", "holdfast_stack": _shortened(stack), **fields},
        )

    def _find(self, frame: FrameType) -> tuple[Holding | None, list[str]]:
        """Whose handler it is, with the stack from the handler on; nobody's, with the whole stack. Outermost first."""
        codes = {getattr(holding.type.function, "__code__", None): holding for holding in self._holdings.all()}
        lines: list[str] = []
        for each, number in traceback.walk_stack(frame):
            lines.insert(0, _line(each, number))
            if each.f_code in codes:
                return codes[each.f_code], lines
        return None, lines


def _line(frame: FrameType, number: int) -> str:
    code = frame.f_code
    source = linecache.getline(code.co_filename, number).strip()
    return f"{code.co_filename}:{number} in {code.co_name}" + (f": {source}" if source else "")


def _shortened(stack: list[str]) -> list[str]:
    """Both ends of a deep stack: where the handler calls, and where it hangs."""
    return stack if len(stack) <= MOST_LINES else [stack[0], "...", *stack[2 - MOST_LINES :]]
