"""Worker processes that are killed or stopped at every point of a handler with steps.

``python -m tests.process.step_victims URL FOLDER ACTION PLACES`` runs one process per place. A place is the number of a
job and of a point: before or after an operation of the store, or a statement of the handler. Each process prints its
id, and ends at its point or after its attempt. Without places it is a worker that runs all jobs until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

from holdfast import Attempt, Client, Event, Jobs, Retry, SyncAttempt, Worker
from holdfast.stores.address import open_store
from torture.failpoints import Watch
from torture.watched_store import WatchedStore

AT_ONCE = Retry(initial=0, jitter=0, max_attempts=20)
JOBS = 260
ROWS = 4
IGNORED = ("renew", "next_due", "report_worker", "remove_worker", "due_schedules", "declare_limits", "prune", "reap")
"""Operations of the worker at times that have nothing to do with the handler."""
ENDS = ("completed", "suspended", "lost", "retrying", "failed", "released")
PROCESSES = 6


class Points:
    """Counts the points that a process passes, and ends it at one of them."""

    def __init__(self, at: int, action: str) -> None:
        self.at = at
        self.passed = 0
        self._signal = signal.SIGKILL if action == "kill" else signal.SIGSTOP
        self._begun = False

    def meet(self, verb: str, when: str) -> None:
        if verb in IGNORED:
            return
        self.passed += 1
        self._begun |= verb == "get_steps"
        if self.passed == self.at and self._signal == signal.SIGSTOP and not self._begun:
            self.at += 1  # a process that stops before its claim would wait for a job after it is resumed
        elif self.passed == self.at:
            os.kill(os.getpid(), self._signal)

    def asked(self, operation: object) -> int:
        return 0

    def answered(self, *of: object) -> None: ...

    def raised(self, *of: object) -> None: ...


points = Points(-1, "kill")
folder = Path()


class Fulfilled(NamedTuple):
    payment: str
    reserved: str
    label: str
    rows: int


def charge(number: int) -> str:
    """A call outside of the store. Each call has another result."""
    points.meet("call", "before")
    payment = uuid.uuid4().hex
    with (folder / f"{number}.calls").open("a") as file:
        file.write(payment + "\n")
    points.meet("call", "after")
    return payment


async def enter(tx: Any, number: int, name: str) -> str:
    points.meet("statement", "before")
    if tx is not None:
        await tx.execute(*_row(tx, number, name))
    points.meet("statement", "after")
    return f"{number} {name}"


def enter_blocking(tx: Any, number: int, name: str) -> str:
    points.meet("statement", "before")
    if tx is not None:
        tx.execute(*_row(tx, number, name))
    points.meet("statement", "after")
    return f"{number} {name}"


def _row(tx: Any, number: int, name: str) -> tuple[str, tuple[int, str]]:
    mark = "%s" if any(each.__module__.startswith("psycopg") for each in type(tx).__mro__) else "?"
    return f"insert into ledger (number, token) values ({mark}, {mark})", (number, name)


async def fulfil(attempt: Attempt, number: int) -> Fulfilled:
    payment = await attempt.step("charge", charge, number)
    reserved = await attempt.tx_step("reserve", enter, number, "reserve")
    label = await attempt.receive("label", str)
    rows = 0
    async for row in attempt.cursor("rows", range(ROWS), every=2):
        await attempt.tx_step("row", enter, number, f"row {row}", each=row)
        rows = row + 1
    if attempt.job.attempt == 1:
        raise ValueError("the second attempt returns")
    return Fulfilled(payment, reserved, label, rows)


def fulfil_blocking(attempt: SyncAttempt, number: int) -> Fulfilled:
    payment = attempt.step("charge", charge, number)
    reserved = attempt.tx_step("reserve", enter_blocking, number, "reserve")
    label = attempt.receive("label", str)
    for row in attempt.cursor("rows", range(ROWS), every=2):
        attempt.tx_step("row", enter_blocking, number, f"row {row}", each=row)
    return Fulfilled(payment, reserved, label, ROWS)


jobs = Jobs()
TYPES: list[Any] = [
    jobs.job(name=f"fulfil-{number}", retry=AT_ONCE)(fulfil if number % 2 == 0 else fulfil_blocking)
    for number in range(JOBS)
]
"""One job type per process, so that each process claims its own job. Every second one is a plain function."""


async def work(url: str, types: Iterable[str] | None) -> None:
    ended = asyncio.Event()

    def observe(event: Event) -> None:
        if types is not None and event.kind in ENDS:
            ended.set()

    store = WatchedStore(open_store(url), cast("Watch", points))
    async with Client(store, jobs) as client:
        worker = Worker(
            client, types=types, concurrency=1 if types else 8, lease=1, poll_interval=0.2, observers=[observe]
        )
        async with worker:
            await ended.wait()


def _victim(url: str, action: str, number: int, at: int) -> None:
    global points
    points = Points(at, action)
    asyncio.run(work(url, [f"fulfil-{number}"]))
    (folder / f"{number}.passed").write_text(str(points.passed))


def _run(url: str, action: str, places: list[tuple[int, int]]) -> None:
    running = 0
    for number, at in places:
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a stopped process must not keep the pipe open
                _victim(url, action, number, at)
            finally:
                os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        running += 1
        if running >= PROCESSES:
            os.waitpid(-1, os.WUNTRACED)
            running -= 1
    for _ in range(running):
        os.waitpid(-1, os.WUNTRACED)


if __name__ == "__main__":
    _, url, path, action, given = sys.argv
    folder = Path(path)
    if chosen := json.loads(given):
        _run(url, action, chosen)
    else:
        asyncio.run(work(url, None))
