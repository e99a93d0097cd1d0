"""The worker: claims due jobs, runs their handlers in slots, and sees each to its end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import Self, cast

from holdfast.client import Client
from holdfast.clock import SECOND
from holdfast.errors import HoldfastError
from holdfast.events import Event
from holdfast.failure import read_error
from holdfast.ids import new_token
from holdfast.naming import Names
from holdfast.observer import Observer, Observers, log
from holdfast.operations import NextDue, Reap
from holdfast.options import check_duration
from holdfast.record import Record, Status
from holdfast.retry import Retry, Seconds, seconds
from holdfast.wakeups import Alarm, Hints
from holdfast.worker.claimer import Claimer
from holdfast.worker.fencer import Fencer
from holdfast.worker.holdings import Holding, Holdings, ticks
from holdfast.worker.middleware import Middleware
from holdfast.worker.processes import Processes
from holdfast.worker.pruner import Pruner
from holdfast.worker.renewer import Renewer
from holdfast.worker.runner import Runner
from holdfast.worker.settler import Settler
from holdfast.worker.signals import on_signals
from holdfast.worker.terms import Terms, chosen
from holdfast.worker.threads import Threads
from holdfast.worker.watchdog import Watchdog

REAP_EVERY = 1.0
REAP_BATCH = 100
SHORTEST_NAP = 0.05
AT_ONCE = 100
"""Jobs that one claim may ask for, however few slots that leaves for the next."""
LAST_WORDS = 5.0
"""Seconds that handlers have to end once they were aborted, and again that outcomes have to be written."""


class Worker:
    """Runs jobs of a client's registry on its store.

    The loop: every second, take back jobs whose workers stopped renewing; fill the free slots in one claim; then sleep
    until a wake-up, the next due time, the poll interval or a free slot. Job types without a handler here are left
    for a worker that has them.
    """

    def __init__(
        self,
        client: Client,
        *,
        concurrency: int = 10,
        types: Names | None = None,
        poll_interval: Seconds = 60,
        grace: Seconds = 25,
        worker_id: str | None = None,
        retry: Retry | None = None,
        lease: Seconds = 60,
        timeout: Seconds | None = None,
        job_delay: Seconds = 0,
        recovery: Retry | None = None,
        poll_without_wakeups: Seconds = 1,
        memory_limit: int | None = None,
        middlewares: Iterable[Middleware] = (),
        observers: Iterable[Observer | Callable[[Event], None]] = (),
    ) -> None:
        if not isinstance(client, Client):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
            raise TypeError(
                f"a worker is given an open Client, not a {type(client).__name__}: Worker(Client(store, jobs))"
            )
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        check_duration("lease", lease)
        check_duration("timeout", timeout)
        check_duration("poll_interval", poll_interval)
        check_duration("poll_without_wakeups", poll_without_wakeups)
        check_duration("grace", grace, zero=True)
        check_duration("job_delay", job_delay, zero=True)
        # Unique per start, also where machines or containers come back under one name.
        self.id = worker_id or f"{socket.gethostname()}-{os.getpid()}-{new_token()[:6]}"
        self._client = client
        self._store = client.store
        self._concurrency = concurrency
        self._poll_interval = seconds(poll_interval)
        self._poll_without_wakeups = seconds(poll_without_wakeups)
        self._grace = seconds(grace)
        self._job_delay = seconds(job_delay)
        self._recovery = recovery or Retry(initial=0.2, maximum=5, jitter=0.5, max_attempts=None)
        defaults = Terms(retry or Retry(), lease, timeout)
        self._middlewares = tuple(middlewares)
        self._observers = Observers([*client.observers.heard_by, *observers])
        self._types = chosen(client.jobs, types)
        self._terms = {name: defaults.of(job_type) for name, job_type in self._types.items()}
        self._shortest_lease = min(terms.lease for terms in self._terms.values())
        claim_terms = tuple(terms.claiming() for terms in self._terms.values())
        self._claimer = Claimer(self._store, claim_terms, self.id, shortest=self._shortest_lease)
        self._threads = Threads(f"holdfast-{self.id}")
        self._processes = Processes(self._threads, memory_limit=memory_limit)
        for job_type in self._types.values():
            if job_type.executor == "process":
                self._processes.check(job_type)
        self._holdings = Holdings()
        self._alarm = Alarm()
        self._tasks: set[asyncio.Task[None]] = set()
        self._more = True
        """There may be more due than the slots took."""
        self._started = False
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._background: asyncio.Task[None] | None = None
        self._reaped = 0.0

    # Running

    async def run(self, *, signals: bool = True) -> None:
        """Work until cancelled, stopped or signalled; then finish or give back what runs, within the grace period.

        SIGTERM and SIGINT stop it when it runs in the main thread, unless `signals` leaves them alone. A second one, or
        being cancelled again, ends the grace period. RuntimeError if the client is not open.
        """
        self._store.check_open()
        with on_signals(self.stop) if signals else nullcontext():
            await self._see_through(asyncio.create_task(self._work(), name=f"holdfast-worker-{self.id}"))

    async def __aenter__(self) -> Self:
        self._store.check_open()
        self._background = asyncio.create_task(self._work(), name=f"holdfast-worker-{self.id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        assert self._background is not None
        await self._see_through(self._background)

    def stop(self) -> None:
        """Stop claiming and wind down. Called again, it ends the grace period."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()
        self._alarm.ring()

    @property
    def busy(self) -> int:
        """How many handlers are running."""
        return len(self._tasks)

    async def _see_through(self, work: asyncio.Task[None]) -> None:
        """Await the work to its end. Being cancelled meanwhile stops it: what is claimed is not left lying."""
        cancelled = False
        while not work.done():
            try:
                await asyncio.wait([work])
            except asyncio.CancelledError:
                cancelled = True
                self.stop()
        work.result()
        if cancelled:
            raise asyncio.CancelledError

    async def _work(self) -> None:
        if self._started:
            raise RuntimeError("a worker runs once; make another one")
        self._started = True
        loop = asyncio.get_running_loop()
        settler = Settler(self._store, self._observers, self._recovery, self.id, written=self._go_on)
        renewer = Renewer(self._store, self._holdings, self._observers, self.id, shortest=self._shortest_lease)
        watchdog = Watchdog(loop, self._holdings, patience=min(self._shortest_lease / 4, 5.0))
        self._runner = Runner(
            store=self._store, jobs=self._client.jobs, terms=self._terms, holdings=self._holdings, settler=settler,
            threads=self._threads, processes=self._processes, observers=self._observers, middlewares=self._middlewares,
        )  # fmt: skip
        unsubscribe = self._store.wakeups.subscribe(self._hear)
        unsubscribe_renewer = self._store.wakeups.subscribe(renewer.hear)
        renewer.start()
        watchdog.start()
        settling = asyncio.create_task(settler.run(), name="holdfast-settler")
        fencer = Fencer(self._holdings, shortest=self._shortest_lease)
        fencing = asyncio.create_task(fencer.run(), name="holdfast-fencer")
        pruning = asyncio.create_task(Pruner(self._store, self._observers, self.id).run(), name="holdfast-pruner")
        self._observers.tell("worker_started", worker=self.id, detail=", ".join(sorted(self._types)))
        try:
            await self._loop()
            await self._wind_down(settler)
        finally:
            unsubscribe()
            unsubscribe_renewer()
            for task in (settling, fencing, pruning):
                task.cancel()
            await asyncio.gather(settling, fencing, pruning, return_exceptions=True)
            # Not in the loop's own pool: handlers may have blocked all of it.
            await self._threads.submit(partial(_stop_threads, renewer, watchdog))
            self._processes.close()
            self._threads.close()
            self._observers.tell("worker_stopped", worker=self.id)

    async def _loop(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                await self._turn()
                failures = 0
            except Exception as error:
                if not isinstance(error, HoldfastError):
                    log.exception("worker %s met an error that its store should have named, and goes on", self.id)
                failures += 1
                self._observers.tell("store_error", worker=self.id, detail=str(error))
                await self._alarm.wait(self._recovery.delay(failures))

    async def _turn(self) -> None:
        """One turn of the loop. Whoever rang wants a claim, so that comes first.

        A worker that always has work reaps too: perhaps nobody else is idle either.
        """
        fills = self._more and self._free() > 0
        if fills:
            await self._fill()
        if ticks() >= self._reaped + REAP_EVERY:
            await self._reap()
        elif fills:
            return
        elif self._more:
            await self._alarm.wait(self._poll_interval)
        else:
            rung = await self._sleep()
            self._more = True
            if rung:
                self._observers.tell("woken", worker=self.id)

    async def _fill(self) -> None:
        """Fill the free slots in one claim. Where there are many, half: the store hands out the rest as these begin."""
        wanted = min(self._free(), max(AT_ONCE, self._concurrency // 2))
        jobs, sent = await self._claimer.claim(wanted)
        self._more = len(jobs) >= wanted
        self._begin(jobs, sent)

    def _begin(self, records: Sequence[Record], sent: float) -> None:
        if self._observers.wants("claimed"):
            for record in records:
                waited = ((record.started_at or 0) - record.scheduled_at) / SECOND
                self._observers.tell("claimed", record, waited=waited)
        holdings = self._runner.hold(records, sent)
        if self._stopping.is_set():  # claimed while the order to stop came in
            for holding in holdings:
                self._runner.give_back(holding)
            return
        create_task = asyncio.get_running_loop().create_task
        tasks = [create_task(self._occupy(holding)) for holding in holdings]
        # One may be done already, where the application has its loop start tasks eagerly.
        self._tasks.update(task for task in tasks if not task.done())

    async def _occupy(self, holding: Holding) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            await self._runner.run(holding, task)
        except BaseException:
            # Nobody will settle it. No longer renewed, its lease runs out and it is taken back.
            self._holdings.remove(holding)
            task.add_done_callback(_mourn)
            raise
        else:
            if self._job_delay:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), self._job_delay)
        finally:
            # Here and not in a callback, which for every job would cost as much as its task.
            self._tasks.discard(task)
            self._go_on()

    def _go_on(self) -> None:
        """There is room. That is news only while more is due; what an outcome made due, its wake-up tells."""
        if self._more or not self._store.wakeups.healthy:
            self._alarm.ring()

    def _free(self) -> int:
        """Slots to fill. What waits to be written is still held, and counts too, lest a slow store pile it up."""
        return min(self._concurrency - len(self._tasks), 2 * self._concurrency - len(self._holdings))

    async def _reap(self) -> None:
        """Take back what other workers lost."""
        self._reaped = ticks()
        held = tuple(holding.claim for holding in self._holdings.all() if not holding.given_up)
        reaped = await self._store.perform(Reap(tuple(self._types), held, REAP_BATCH))
        for each in reaped:
            detail = f"from worker {each.worker}"
            self._observers.tell("reaped", each.record, worker=self.id, detail=detail)
            if each.record.status is Status.FAILED:
                self._observers.tell("failed", each.record, worker=self.id, error=read_error(each.record.error))
        self._more = self._more or bool(reaped)

    async def _sleep(self) -> bool:
        """Sleep until there may be something to do; tells whether somebody rang."""
        poll = self._poll_interval * (0.95 + 0.1 * os.urandom(1)[0] / 255)
        if not self._store.wakeups.healthy:
            poll = min(poll, self._poll_without_wakeups)
        due = await self._store.perform(NextDue(tuple(self._types)))
        if due is not None:
            # Due now and yet not ours to claim: locked, or a lease of our own. Not again at once.
            poll = min(poll, max(due / SECOND, SHORTEST_NAP if not self._holdings else REAP_EVERY / 2))
        return await self._alarm.wait(poll)

    def _hear(self, hints: Hints) -> None:
        if hints.anything or not hints.due.isdisjoint(self._types):
            self._alarm.ring()

    # Stopping

    async def _wind_down(self, settler: Settler) -> None:
        self._observers.tell("worker_stopping", worker=self.id, detail=f"{len(self._tasks)} running")
        hurry = asyncio.create_task(self._hurry.wait())
        deadline = asyncio.get_running_loop().time() + self._grace
        while self._tasks and not hurry.done():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait([*self._tasks, hurry], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        for holding in self._holdings.all():
            holding.abort("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_WORDS)
        with suppress(TimeoutError):
            # Not written in time, the leases run out: nothing depends on it.
            await asyncio.wait_for(settler.flush(), timeout=LAST_WORDS)


def _mourn(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        log.error("an attempt broke in the engine itself", exc_info=task.exception())


def _stop_threads(renewer: Renewer, watchdog: Watchdog) -> None:
    renewer.stop(LAST_WORDS)
    watchdog.stop()
