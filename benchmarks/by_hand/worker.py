"""A worker as a developer writes it without a library: the part that does not depend on the store.

The limits in `benchmarks/limits` leave out what a worker needs in production. This one has it:

- Each handler is an async function in a task of its own. Handlers run concurrently, and no commit blocks the loop.
- A claim has a lease and a token. The lease is renewed while the handler runs, expired leases are taken back, and
  every later write checks the token. A handler whose lease is lost is cancelled.
- The input is parsed and checked, the output is stored, and an error of a handler is stored instead of the output.
- A handler with a transaction awaits its own statement in it. The completion is a part of the same transaction.
- An idle worker sleeps until another process announces new work, and polls once a second because a message may be lost.

It is written for speed: outcomes are collected while a write runs, one transaction writes them and claims the next
jobs, and jobs are claimed ahead of the free slots.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from benchmarks.ticks import tick

LEASE = 30.0
"""Seconds. Renewals and the search for expired leases come three times as often."""
POLL = 1.0


class Job(NamedTuple):
    """A claimed job."""

    key: Any
    type: str
    input: bytes
    token: str
    group: Any = None
    """The id of the job that waits for this one; of a job that waits for others, its own id."""


class Next(NamedTuple):
    """What a handler returns to continue its chain."""

    type: str
    number: int


class Outcome(NamedTuple):
    """The end of a handler, to be written."""

    job: Job
    output: bytes = b""
    next: Next | None = None
    error: str | None = None


class Queue(Protocol):
    """What a store does for the worker."""

    async def settle_and_claim(self, ended: Sequence[Outcome], limit: int) -> list[Job]:
        """Write these outcomes, unless their claims are lost, and claim jobs, in one transaction."""
        ...

    async def write(self, job: Job, number: int) -> None:
        """A handler with a transaction: a row of the application, and the completion of the job."""
        ...

    async def outputs(self, jobs: Sequence[Job]) -> dict[Any, list[bytes]]:
        """The outputs of the jobs that each of these waited for, by its key."""
        ...

    async def renew(self, jobs: Sequence[Job]) -> list[Any]:
        """Renew leases. Returns the keys of the jobs whose claims are lost."""
        ...

    async def reap(self) -> None:
        """Return jobs with an expired lease to pending."""
        ...

    async def wait(self) -> None:
        """Wait until another process has announced new work."""
        ...


async def add(number: int) -> int:
    tick()
    return number + 1


async def first(number: int) -> Next:
    tick()
    return Next("second", number + 1)


async def second(number: int) -> Next:
    tick()
    return Next("third", number + 1)


async def gather(outputs: Sequence[int]) -> int:
    tick()
    return sum(outputs)


HANDLERS: dict[str, Callable[[int], Awaitable[int | Next]]] = {
    "add": add, "part": add, "first": first, "second": second, "third": add,
}  # fmt: skip


class Worker:
    """Runs the handlers of claimed jobs, `slots` at a time, and claims up to `ahead` jobs for them."""

    def __init__(self, queue: Queue, *, slots: int, ahead: int) -> None:
        self._queue = queue
        self._slots = slots
        self._ahead = ahead
        self._waiting: deque[Job] = deque()
        self._tasks: dict[Any, asyncio.Task[None]] = {}
        self._held: dict[Any, Job] = {}
        """All claims whose outcome is not written yet."""
        self._outputs: dict[Any, list[bytes]] = {}
        """What claimed jobs have waited for."""
        self._ended: list[Outcome] = []
        self._changed = asyncio.Event()
        self._due = True
        """A claim may find more jobs."""

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_and_claim())
            group.create_task(self._keep_leases())
            group.create_task(self._listen())

    async def _write_and_claim(self) -> None:
        while True:
            room = self._ahead - len(self._waiting) - len(self._tasks)
            if not self._ended and not (self._due and 2 * room >= self._ahead):
                await self._changed.wait()
                self._changed.clear()
                continue
            ended, self._ended, self._due = self._ended, [], False
            claimed = await self._queue.settle_and_claim(ended, room)
            for outcome in ended:
                del self._held[outcome.job.key]
            self._held.update((job.key, job) for job in claimed)
            if waited := [job for job in claimed if job.type == "gather"]:
                self._outputs |= await self._queue.outputs(waited)
            self._waiting.extend(claimed)
            self._due = self._due or len(claimed) == room
            self._begin()

    def _begin(self) -> None:
        tasks, waiting = self._tasks, self._waiting
        while waiting and len(tasks) < self._slots:
            job = waiting.popleft()
            tasks[job.key] = asyncio.create_task(self._run(job))

    async def _run(self, job: Job) -> None:
        try:
            outcome = await self._call(job)
        except Exception as error:
            outcome = Outcome(job, error=repr(error))
        finally:
            del self._tasks[job.key]
        if outcome is None:
            del self._held[job.key]
        else:
            self._ended.append(outcome)
        self._begin()
        if not self._changed.is_set():
            self._changed.set()

    async def _call(self, job: Job) -> Outcome | None:
        """Run the handler. None if it has completed the job itself."""
        number = json.loads(job.input)["number"]
        if not isinstance(number, int):
            raise TypeError(f"not a number: {number!r}")
        if job.type == "write":
            await self._queue.write(job, number)
            return None
        if job.type == "gather":
            value: int | Next = await gather([json.loads(each) for each in self._outputs.pop(job.key)])
        else:
            value = await HANDLERS[job.type](number)
        return Outcome(job, next=value) if isinstance(value, Next) else Outcome(job, json.dumps(value).encode())

    async def _keep_leases(self) -> None:
        while True:
            await asyncio.sleep(LEASE / 3)
            for key in await self._queue.renew(list(self._held.values())):
                if key in self._tasks:
                    self._tasks[key].cancel()
            await self._queue.reap()
            self._wake()

    async def _listen(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._queue.wait(), POLL)
            self._wake()

    def _wake(self) -> None:
        self._due = True
        self._changed.set()


def payload(number: int) -> bytes:
    return json.dumps({"number": number}).encode()


def by_key(jobs: Sequence[Job], rows: Iterable[Any]) -> dict[Any, list[bytes]]:
    """Pairs of a group and an output, as the outputs of each job."""
    found: dict[Any, list[bytes]] = {job.group: [] for job in jobs}
    for group, output in rows:
        found[group].append(output)
    return {job.key: found[job.group] for job in jobs}
