"""The harness of the queue tests: a store, a manual clock, queues, and recorders of their events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from holdfast import Queue, QueueJob, Reaper, Retry, Store
from holdfast.core.clock import duration
from holdfast.core.ids import new_token
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimJobs, TypeTerms
from holdfast.queue.event_relay import EVENTS
from holdfast.testing.clock import ManualClock

T = TypeVar("T")

TIMEOUT = 60.0
"""Seconds of real time after which a test fails."""
AT_ONCE = Retry(initial=0, jitter=0)
LEASE = 30
"""The usual visibility timeout."""

AnyQueue = Queue[Any, Any]


class Recorder:
    """Records every event of a queue or reaper, and lets a test wait for one."""

    def __init__(self, subject: AnyQueue | Reaper, events: tuple[str, ...] = EVENTS) -> None:
        self.events: list[tuple[Any, ...]] = []
        self._changed = asyncio.Event()
        for event in events:
            subject.on(event, partial(self._receive, event))

    def _receive(self, event: str, *values: Any) -> None:
        self.events.append((event, *values))
        self._changed.set()

    async def receive(self, event: str, *values: Any, times: int = 1) -> tuple[Any, ...]:
        """Wait until this many events that begin with these values were received. Returns the last one."""
        async with asyncio.timeout(TIMEOUT):
            while len(found := self.find(event, *values)) < times:
                self._changed.clear()
                await self._changed.wait()
        return found[times - 1]

    def find(self, event: str, *values: Any) -> list[tuple[Any, ...]]:
        wanted = (event, *values)
        return [each for each in self.events if each[: len(wanted)] == wanted]

    def kinds(self, id: str) -> list[str]:
        """The events of one id, in order."""
        return [event for event, *values in self.events if values and values[0] == id]


class Handler:
    """A handler that records each attempt. With `hold` it waits until `let_go`."""

    def __init__(self, act: Callable[[QueueJob[Any]], Any] | None = None, *, hold: bool = False) -> None:
        self.jobs: list[QueueJob[Any]] = []
        self._act = act
        self._go = asyncio.Event()
        self._begun = asyncio.Event()
        if not hold:
            self._go.set()

    async def __call__(self, job: QueueJob[Any]) -> Any:
        self.jobs.append(job)
        self._begun.set()
        await self._go.wait()
        return job.payload if self._act is None else self._act(job)

    def let_go(self) -> None:
        self._go.set()

    async def begun(self, *, times: int = 1) -> QueueJob[Any]:
        """Wait until it was called this many times."""
        async with asyncio.timeout(TIMEOUT):
            while len(self.jobs) < times:
                self._begun.clear()
                await self._begun.wait()
        return self.jobs[times - 1]

    @property
    def ids(self) -> list[str]:
        return [job.id for job in self.jobs]


class Harness:
    """A store, and the queues of a test on it."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock

    def queue(
        self, handler: Callable[[QueueJob[Any]], Any] | None = None, *, name: str = "emails", **options: Any
    ) -> AnyQueue:
        options = {"store": self.store, "retry": AT_ONCE, "concurrency": 4, **options}
        queue: AnyQueue = Queue(name, **options)
        if handler is not None:
            queue.execute(handler)
        return queue

    async def claim(self, *, name: str = "emails", lease: float = LEASE) -> Record:
        """Claim the first job of the queue, for a worker that then does nothing more."""
        terms = TypeTerms(f"queue:{name}", duration(lease), 25)
        (record,) = await self.store.perform(ClaimJobs((terms,), 1, "a dead worker", new_token()))
        return record


async def soon(awaitable: Awaitable[T]) -> T:
    """Await with a time limit."""
    async with asyncio.timeout(TIMEOUT):
        return await awaitable


def fail(job: QueueJob[Any]) -> Any:
    """Act: fail every attempt."""
    raise ValueError(f"no luck with attempt {job.attempts}")


def fail_until(attempt: int) -> Callable[[QueueJob[Any]], Any]:
    """Act: fail every attempt before this one."""

    def act(job: QueueJob[Any]) -> Any:
        return fail(job) if job.attempts < attempt else job.payload

    return act
