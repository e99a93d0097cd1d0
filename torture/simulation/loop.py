"""An event loop whose time is a number: when nothing is ready, it jumps to what is due next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from heapq import heappop, heappush
from typing import Any, TypeVarTuple

Ts = TypeVarTuple("Ts")

EPOCH = 1_767_225_600.0
"""Where simulated time begins: the first of January 2026, UTC."""
TOGETHER = 1e-6
"""Seconds within which timers are due at once. Finer than what a float of this size can tell apart, none ever was."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs everything in one thread, executors included, and never waits: it has nothing to do with the system.

    Timers that are due at once come in the order in which they were set.
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
        """The same as the stores and the histories count."""
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
        """Turn until somebody stops it."""
        ready, timers = self._ready, self._timers
        while True:
            if not ready:
                # Otherwise time would jump to what nobody waits for.
                while timers and timers[0][2].cancelled():
                    heappop(timers)
                if not timers:
                    raise RuntimeError("nobody will ever do anything again: a deadlock")
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
        """Nobody else could call."""
