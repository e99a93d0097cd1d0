"""Patches for a simulation: no threads, the simulated clock, seeded randomness, no access to source files."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from holdfast.client import waiting
from holdfast.core import ids
from holdfast.core.lost_claims import claim_lost_reason
from holdfast.engine.operations import GetJobs, LostReason
from holdfast.engine.wake_flag import WakeFlag
from holdfast.engine.wakeups import Hints
from holdfast.errors import HoldfastError
from holdfast.worker import (
    attempt_events,
    claimer,
    held_claims,
    lease_guard,
    lease_renewer,
    pruner,
    reaper,
    runner,
    shard_duties,
    threads,
    worker,
)
from holdfast.worker.steps import async_waits, attempt_steps
from torture.settings import IN_PLACE
from torture.simulation.loop import SimulatedLoop

R = TypeVar("R")

_TICKING = (claimer, lease_guard, held_claims, reaper, lease_renewer, runner, attempt_events, attempt_steps)
"""Modules that read the monotonic clock of the process."""


class TaskRenewer(lease_renewer.LeaseRenewer):
    """The renewer as a task, with the same loop as the thread."""

    def start(self) -> None:
        self._wake_flag = WakeFlag()
        self._task = asyncio.get_running_loop().create_task(self._live())

    def stop(self, timeout: float) -> None:
        self._stopped = True
        self._task.cancel()

    def receive(self, hints: Hints) -> None:
        super().receive(hints)
        if self._check_requested:
            self._wake_flag.set()

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._stopped:
            await self._wake_flag.wait(self._pause())
            if self._check_requested and loop.time() >= self._checked_at + lease_renewer.CHECK_INTERVAL:
                self._check_requested = False
                self._checked_at = loop.time()
                self._try(self._check_claims)
            self._try(self._renew)


class NoWatchdog:
    """No watchdog: the simulated time does not advance while a callback runs."""

    def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class NoThreads(threads.Threads):
    """Calls the function at once, in the thread of the event loop: another thread would have another clock."""

    def submit(self, function: Callable[[], R]) -> asyncio.Future[threads.Ended[R]]:
        done: asyncio.Future[threads.Ended[R]] = asyncio.get_running_loop().create_future()
        try:
            done.set_result(threads.Ended(function(), None))
        except BaseException as error:
            done.set_result(threads.Ended(None, error))
        return done


def _reasons(guard: Any, expired: Sequence[held_claims.HeldClaim]) -> dict[str, LostReason]:
    """Read the store in this thread: the thread of the lease guard would have no event loop and another clock."""
    try:
        records = guard._store.perform_sync(GetJobs(tuple(held.record.id for held in expired)))
    except HoldfastError:
        return {}
    found = zip(expired, records, strict=True)
    return {held.record.id: reason for held, record in found if (reason := claim_lost_reason(record, held.claim))}


@contextmanager
def _signals() -> Generator[None]:
    """Replace Python's own SIGINT handler, as `asyncio.run` does. A KeyboardInterrupt then comes from a handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _briefly(kind: type[BaseException], error: BaseException, trace: object) -> list[str]:
    """An error without source lines: to read the sources takes longer than the rest of an attempt."""
    return [f"{kind.__name__}: {error}"]


@contextmanager
def simulated(loop: SimulatedLoop, seed: int, *, reap: float) -> Generator[None]:
    """One thread, one clock and one source of randomness during the block."""
    rng = random.Random(seed)
    state = random.getstate()
    random.seed(seed)
    changed: Any = ids
    changed._last = 0
    changed._noise.clear()
    changed._tokens.clear()
    values: list[tuple[Any, str, Any]] = [
        *((module, "lease_clock", loop.time) for module in _TICKING),
        (shard_duties, "LeaseRenewer", TaskRenewer),
        (worker, "Watchdog", NoWatchdog),
        (worker, "Threads", NoThreads),
        (lease_guard.LeaseGuard, "_reasons", _reasons),
        (reaper, "REAP_EVERY", reap),
        (pruner, "EVERY", 2.0),
        (async_waits, "WAIT_IN_PLACE", IN_PLACE),
        (waiting, "monotonic", loop.time),
        (traceback, "format_exception", _briefly),
        (os, "urandom", rng.randbytes),
        (time, "time_ns", lambda: loop.micros() * 1000),
        (time, "time", loop.time),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in values]
    try:
        for module, name, value in values:
            setattr(module, name, value)
        with _signals():
            yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
        random.setstate(state)
        changed._noise.clear()  # the remaining random bytes are predictable
        changed._tokens.clear()
