"""Logs which handler blocks the event loop. Meanwhile it calls `blocked`, which releases jobs that cannot begin."""

from __future__ import annotations

import asyncio
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic
from types import FrameType

from holdfast.engine.observers import log
from holdfast.worker.held_claims import HeldClaim, HeldClaims, lease_clock
from holdfast.worker.lease_renewer import LeaseRenewer

CHECK_INTERVAL = 1.0
"""Seconds between two checks while jobs are running."""
BLOCKED_INTERVAL = 0.25
"""Seconds between two calls of `blocked` while the event loop does not answer."""
STACK_LINES = 8
"""Maximum number of stack lines that are logged."""


class Watchdog:
    """Schedules a callback on the event loop every second while handlers run, and logs the stack if it is late.

    Until the callback runs, `blocked` is called repeatedly, in the thread of the watchdog.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        held_claims: HeldClaims,
        *,
        threshold: float,
        blocked: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._held_claims = held_claims
        self._threshold = threshold
        self._blocked = blocked
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(CHECK_INTERVAL):
            if not len(self._held_claims):
                continue
            alive = threading.Event()
            asked = lease_clock()
            try:
                self._loop.call_soon_threadsafe(alive.set)
            except RuntimeError:  # the loop is closed
                return
            if not self._answers(alive, self._threshold):
                self._report()
                while not self._answers(alive, CHECK_INTERVAL):
                    if self._loop.is_closed():
                        return
                log.warning("the event loop runs again after %.1f s", lease_clock() - asked)

    def _answers(self, alive: threading.Event, seconds: float) -> bool:
        """Whether the event loop runs the callback within these seconds."""
        end = lease_clock() + seconds
        while not alive.wait(max(0.0, min(BLOCKED_INTERVAL, end - lease_clock()))):
            self._blocked()
            if lease_clock() >= end:
                return False
        return True

    def _report(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)  # pyright: ignore[reportPrivateUsage]
        if frame is None:
            return
        blocking, stack = self._find(frame)
        name = "something" if blocking is None else f"the handler of {blocking.record.type!r}"
        fields = {} if blocking is None else {"holdfast_type": blocking.record.type}
        # Log the line of the handler itself. For other code, log the innermost line.
        place = stack[0] if blocking is not None else stack[-1]
        log.warning(
            "%s blocks the event loop for more than %.1f s, at %s. Leases are still renewed, but nothing else runs: "
            "make it a plain function (it then runs in a thread), or await instead of blocking",
            name,
            self._threshold,
            place,
            extra={"holdfast_event": "loop_blocked", "holdfast_stack": _shortened(stack), **fields},
        )

    def _find(self, frame: FrameType) -> tuple[HeldClaim | None, list[str]]:
        """The claim whose handler runs, and the stack from the handler on. For other code: None and the whole stack."""
        codes = {getattr(each.type.function, "__code__", None): each for each in self._held_claims.all()}
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
    """The first line and the last lines of a deep stack."""
    return stack if len(stack) <= STACK_LINES else [stack[0], "...", *stack[2 - STACK_LINES :]]


def start_threads(renewers: Sequence[LeaseRenewer], watchdog: Watchdog) -> None:
    """Start the threads that work while the event loop is blocked. If one cannot be started, stop all of them."""
    with ExitStack() as started:
        for renewer in renewers:
            renewer.start()
            started.callback(renewer.stop, 0)
        watchdog.start()
        started.pop_all()


def stop_threads(renewers: Sequence[LeaseRenewer], watchdog: Watchdog, timeout: float) -> None:
    """Stop the threads. All renewers together have `timeout` seconds to end: one may hang in a call to its shard."""
    deadline = monotonic() + timeout
    for renewer in renewers:
        renewer.stop(0)
    for renewer in renewers:
        renewer.stop(max(deadline - monotonic(), 0))
    watchdog.stop()
