"""What of the library is put out of the way of a simulation: threads, real clocks, true randomness."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

from holdfast import ids
from holdfast.worker import renewer
from torture.simulation.loop import SimulatedLoop

R = TypeVar("R")


class TaskRenewer(renewer.Renewer):
    """The renewer as a task: its steps are those of the thread, its naps are the loop's."""

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._live())

    def stop(self, timeout: float) -> None:
        self._stopped = True
        self._task.cancel()

    async def _live(self) -> None:
        while not self._stopped:
            await asyncio.sleep(min(self._pause(), 0.05))
            if self._suspicious and asyncio.get_running_loop().time() >= self._looked + renewer.LOOK_EVERY:
                self._suspicious = False
                self._looked = asyncio.get_running_loop().time()
                self._attempt(self._look)
            self._attempt(self._renew)


class NoWatchdog:
    """Nothing blocks a loop whose time stands still meanwhile."""

    def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class NoThreads:
    """Does at once what a thread would do: another thread would bring another clock in."""

    def __init__(self, name: str) -> None: ...

    def submit(self, function: Callable[[], R]) -> asyncio.Future[R]:
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        done.set_result(function())
        return done

    def close(self) -> None: ...


@contextmanager
def simulated(loop: SimulatedLoop, seed: int, *, reap: float) -> Generator[None]:
    """One thread, one clock, one source of randomness, for as long as the block lasts."""
    rng = random.Random(seed)
    state = random.getstate()
    random.seed(seed)
    changed: Any = ids
    changed._last = 0
    changed._noise.clear()
    replaced: dict[str, Any] = {
        "holdfast.worker.worker.Renewer": TaskRenewer,
        "holdfast.worker.worker.Watchdog": NoWatchdog,
        "holdfast.worker.worker.Threads": NoThreads,
        "holdfast.worker.reaper.REAP_EVERY": reap,
        "holdfast.worker.pruner.EVERY": 2.0,
        "holdfast.worker.reaper.ticks": loop.time,
        "holdfast.worker.renewer.ticks": loop.time,
        "holdfast.worker.claimer.ticks": loop.time,
        "holdfast.worker.fencer.ticks": loop.time,
        "holdfast.worker.holdings.ticks": loop.time,
        "holdfast.worker.runner.ticks": loop.time,
        "holdfast.worker.telling.ticks": loop.time,
        "holdfast.waiting.monotonic": loop.time,
    }
    patches = [patch(name, value) for name, value in replaced.items()]
    patches += [
        patch.object(os, "urandom", rng.randbytes),
        patch.object(time, "time_ns", lambda: loop.micros() * 1000),
        patch.object(time, "time", loop.time),
    ]
    try:
        for each in patches:
            each.start()
        yield
    finally:
        for each in reversed(patches):
            each.stop()
        random.setstate(state)
        changed._noise.clear()  # what is left of it is no secret
