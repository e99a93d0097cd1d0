"""An event loop with a simulated clock: when no callback is ready, the time becomes that of the next timer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from heapq import heappop, heappush
from typing import Any, TypeVarTuple

Ts = TypeVarTuple("Ts")

EPOCH = 1_767_225_600.0
"""The start of the simulated time: 1 January 2026, UTC."""
TOGETHER = 1e-6
"""Timers within this many seconds are due at the same time: the resolution of a float of this size is not finer."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs everything in one thread, including executors, and never waits or reads a socket.

    Timers that are due at the same time run in the order in which they were set.
    """

    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self._now = EPOCH
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._set = 0

    def time(self) -> float:
        return self._now

    def micros(self) -> int:
        """The time in microseconds, the unit of stores and histories."""
        return round(self._now * 1_000_000)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._set += 1
        heappush(self._timers, (when, self._set, timer))
        return timer

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _run_once(self) -> None:
        """Run callbacks until the loop is stopped."""
        ready, timers = self._ready, self._timers
        while True:
            if not ready:
                # A cancelled timer must not advance the time.
                while timers and timers[0][2].cancelled():
                    heappop(timers)
                if not timers:
                    raise RuntimeError("no callback and no timer is left: a deadlock")
                self._now = max(self._now, timers[0][0])
            while timers and timers[0][0] < self._now + TOGETHER:
                ready.append(heappop(timers)[2])
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle.cancelled():
                    handle._run()
            if self._stopping:
                return

    def _write_to_self(self) -> None:
        """Not needed: there are no other threads."""
