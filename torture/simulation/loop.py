"""An event loop whose time is a number: when nothing is ready, it jumps to what is due next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

EPOCH = 1_767_225_600.0
"""Where simulated time begins: the first of January 2026, UTC."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Runs everything in one thread, executors included, and never waits."""

    def __init__(self) -> None:
        super().__init__()
        self._now = EPOCH
        # Finer than what a float of this size can tell apart, nothing would ever be due.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._now

    def micros(self) -> int:
        """The same as the stores and the histories count."""
        return round(self._now * 1_000_000)

    def _run_once(self) -> None:
        loop: Any = self
        if not loop._ready:
            while loop._scheduled and loop._scheduled[0]._cancelled:
                # As the loop itself does it; otherwise time would jump to what nobody waits for.
                handle = asyncio.base_events.heapq.heappop(loop._scheduled)  # type: ignore[attr-defined]
                handle._scheduled = False
                loop._timer_cancelled_count -= 1
            if loop._scheduled:
                self._now = max(self._now, loop._scheduled[0]._when)
            else:
                raise RuntimeError("nobody will ever do anything again: a deadlock")
        super()._run_once()  # type: ignore[misc]

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future
