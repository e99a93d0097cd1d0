"""The harness of a worker test: a store, a manual clock, a client, and a recorder of all events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from holdfast import Bound, Chain, Client, Event, Job, Jobs, Report, Retry, Store, Worker
from holdfast.engine.operations import Reap
from holdfast.testing.clock import ManualClock

T = TypeVar("T")

TIMEOUT = 60.0
"""Seconds of real time that a test waits for an event."""
POLL = 0.02
LEASE = 30.0
"""It expires only when a test advances the clock. The worker aborts an attempt that it cannot renew for so long."""
RENEW_INTERVAL = 0.2
"""Seconds of real time, much less than the lease: a renewal may be late on a busy machine."""
QUICK_RETRY = Retry(initial=0.01, maximum=0.02, jitter=0, max_attempts=None)
"""For a claim loop that has to recover within a test."""
ENDS = {"completed", "continued", "retrying", "rescheduled", "released", "mismatched", "failed", "cancelled", "lost"}


class Recorder:
    """An observer that keeps every event, and lets a test wait for events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._reactions: dict[str, Callable[[], object]] = {}

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if (react := self._reactions.pop(event.kind, None)) is not None:
            react()
        self._loop.call_soon_threadsafe(self._changed.set)

    def then(self, kind: str, react: Callable[[], object]) -> None:
        """Call a function at the next event of this kind, in the thread that emits it."""
        self._reactions[kind] = react

    async def until(self, condition: Callable[[], T]) -> T:
        """Wait until the condition is true and return its value. It is evaluated after every event."""
        async with asyncio.timeout(TIMEOUT):
            while not (answer := condition()):
                self._changed.clear()
                await self._changed.wait()
        return answer

    async def receive(self, *kinds: str, times: int = 1, **about: Any) -> Event:
        """Wait until this number of matching events has arrived, earlier ones included. Returns the last of them."""
        found = await self.until(lambda: matching[times - 1 :] if (matching := self.find(*kinds, **about)) else [])
        return found[0]

    def find(self, *kinds: str, **about: Any) -> list[Event]:
        """The events of these kinds so far whose fields have these values."""
        return [
            event
            for event in list(self.events)
            if event.kind in kinds and all(getattr(event, name) == value for name, value in about.items())
        ]

    def kinds(self, job_id: str) -> list[str]:
        """The kinds of the events of one job, in order. Renewals are left out: on a busy machine there are more."""
        return [event.kind for event in list(self.events) if event.job_id == job_id and event.kind != "renewed"]


class WorkerHarness:
    """A client on a store, and a factory of workers."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.jobs = Jobs()
        self.recorder = Recorder()
        self.client = Client(store, self.jobs, observers=[self.recorder])

    def worker(self, **options: Any) -> Worker:
        """A worker that polls quickly, so that every test also passes without wake-ups."""
        defaults: dict[str, Any] = {"poll_interval": POLL, "recovery": QUICK_RETRY, "grace": TIMEOUT / 2}
        if "lease" not in options:
            defaults |= {"lease": LEASE, "renew_interval": RENEW_INTERVAL}
        return Worker(self.client, **(defaults | options))

    async def start(self, bound: Bound[T], **options: Any) -> Chain[T]:
        return await self.client.start(bound, **options)

    async def ended(self, chain: Chain[Any], *, times: int = 1) -> Event:
        """Wait until this number of attempts of the chain's first job has ended. Returns the last event."""
        return await self.recorder.receive(*ENDS, times=times, job_id=chain.id)

    def reaped(self, type: str) -> list[str]:
        """Reap the running jobs of this type, as another worker would. Returns their ids.

        It blocks the event loop, so no task of the worker runs meanwhile.
        """
        while True:
            self.clock.advance(LEASE + 1)
            if reaped := self.store.perform_sync(Reap((type,), (), 10)):
                return [each.record.id for each in reaped]
            # The renewer's thread renewed the lease in between.

    async def job(self, chain: Chain[Any] | str) -> Job:
        """The chain's first job, or the job with this id, as it is now."""
        job = await self.client.get_job(chain if isinstance(chain, str) else chain.id)
        assert job is not None
        return job

    async def chain(self, chain: Chain[T]) -> Chain[T]:
        """The chain as it is now."""
        found = await self.client.get(chain)
        assert found is not None
        return found

    async def report(self, chain: Chain[Any]) -> Report:
        report = await self.client.report(chain.id)
        assert report is not None
        return report


async def in_time(awaitable: Any) -> Any:
    """Await with a timeout."""
    async with asyncio.timeout(TIMEOUT):
        return await awaitable
