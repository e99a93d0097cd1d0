"""The worker: creates its parts, runs them, and stops them after the last settlement is written."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack, nullcontext
from functools import partial
from types import TracebackType
from typing import Self

from holdfast.client.client import Client
from holdfast.client.references import Names
from holdfast.core import defaults
from holdfast.core.ids import new_token
from holdfast.core.retry import Retry, Seconds, seconds
from holdfast.engine.audit_user import act_as_handler
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer, Observers, log
from holdfast.engine.store import Store
from holdfast.worker import shutdown
from holdfast.worker.claim_loop import ClaimLoop
from holdfast.worker.claimer import Claimer
from holdfast.worker.claims_in_flight import ClaimsInFlight
from holdfast.worker.durations import Durations
from holdfast.worker.held_claims import HeldClaims
from holdfast.worker.lifespans import Lifespans
from holdfast.worker.limits import declare_limits
from holdfast.worker.middleware import Middleware
from holdfast.worker.os_signals import on_signals
from holdfast.worker.polling import Polling
from holdfast.worker.processes import Processes
from holdfast.worker.reaper import LeaseReaper
from holdfast.worker.reporter import described
from holdfast.worker.run_options import WorkerDefaults, check_worker, types_to_run
from holdfast.worker.runner import Runner
from holdfast.worker.settler import Settler
from holdfast.worker.shard_duties import ShardDuties
from holdfast.worker.shard_parts import claims_on, settler_of, steps_of_worker
from holdfast.worker.slots import Slots
from holdfast.worker.stagger import Stagger
from holdfast.worker.steps.step_store import StepStore
from holdfast.worker.threads import Threads
from holdfast.worker.watchdog import Watchdog, start_threads, stop_threads


class Worker:
    """Runs jobs of a client's registry on its store. It does not claim types without a handler.

    docs/workers.md lists the parameters. The options of a job type override those of the worker. With `ticks=False`
    the worker neither writes the declared schedules nor starts their chains.
    """

    def __init__(
        self,
        client: Client,
        *,
        concurrency: int = defaults.CONCURRENCY,
        types: Names | None = None,
        poll_interval: Seconds = defaults.POLL_INTERVAL,
        grace: Seconds = defaults.GRACE,
        worker_id: str | None = None,
        retry: Retry | None = None,
        lease: Seconds = defaults.LEASE,
        renew_interval: Seconds | None = None,
        timeout: Seconds | None = None,
        mismatch_timeout: Seconds = defaults.MISMATCH_TIMEOUT,
        job_delay: Seconds = defaults.JOB_DELAY,
        recovery: Retry | None = None,
        poll_without_wakeups: Seconds = defaults.POLL_WITHOUT_WAKEUPS,
        memory_limit: int | None = None,
        ticks: bool = True,
        middlewares: Iterable[Middleware] = (),
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        threads: Threads | None = None,
    ) -> None:
        check_worker(
            client, concurrency, lease, renew_interval, timeout, poll_interval=poll_interval,
            poll_without_wakeups=poll_without_wakeups,
            zero={"grace": grace, "mismatch_timeout": mismatch_timeout, "job_delay": job_delay},
        )  # fmt: skip
        # Unique per start, even if containers restart with the same host name and process id.
        self.id = worker_id or f"{socket.gethostname()}-{os.getpid()}-{new_token()[:6]}"
        self.client = client
        self.concurrency = concurrency
        self._store = client.store
        self._grace = seconds(grace)
        self._ticks = ticks
        self._observers = Observers([*client.observers.given, *observers], client.jobs)
        self._recovery = recovery or Retry(initial=0.2, maximum=5, jitter=0.5, max_attempts=None)
        usual = WorkerDefaults(retry or Retry(), lease, renew_interval, timeout, mismatch_timeout)
        self._options = {name: usual.of(job_type) for name, job_type in types_to_run(client.jobs, types).items()}
        self._types = tuple(self._options)
        self._shortest_lease = min(options.lease for options in self._options.values())
        self._started = False
        self._claiming = False
        self._stopping = asyncio.Event()
        self._end_grace = asyncio.Event()
        self._background: asyncio.Task[None] | None = None
        self.on_drain = self.stop
        """Called when an operator drains this worker. A process with its own grace period sets another function."""
        self._threads = threads or Threads(f"holdfast-{self.id}")
        self._processes = Processes(self._threads, memory_limit=memory_limit)
        for options in self._options.values():
            if options.type.executor == "process":
                self._processes.check(options.type)
        self._held_claims = HeldClaims()
        self._lifespans = Lifespans(client.jobs)
        polling, stagger = Polling(seconds(poll_interval), seconds(poll_without_wakeups)), Stagger(self.id)
        self._duties = self._make_duties(polling, stagger)
        self._claim_loop = self._make_claim_loop(polling, stagger)
        self._settler = settler_of(self._store, self._make_settler)
        self._steps = steps_of_worker(self._store, lambda shard: StepStore(shard, self._recovery))
        self._slots = self._make_slots(middlewares, seconds(job_delay))

    async def run(self, *, signals: bool = True) -> None:
        """Run jobs until cancelled, stopped or signalled. Then finish or release the running jobs in the grace period.

        In the main thread SIGTERM and SIGINT stop the worker, unless `signals=False`. A second signal or cancellation
        ends the grace period. Raises RuntimeError if the client is not open.
        """
        self._store.check_open()
        with on_signals(self.stop) if signals else nullcontext():
            await self._wait_until_done(asyncio.create_task(self._run_parts(), name=f"holdfast-worker-{self.id}"))

    async def __aenter__(self) -> Self:
        self._store.check_open()
        self._background = asyncio.create_task(self._run_parts(), name=f"holdfast-worker-{self.id}")
        try:
            await self._lifespans.wait_until_entered(self._background)
        except BaseException:
            self.stop()
            self.stop()
            await asyncio.wait([self._background])
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        assert self._background is not None
        await self._wait_until_done(self._background)

    def stop(self) -> None:
        """Stop claiming and begin the grace period. A second call ends the grace period, or the lifespans' entry."""
        if self._stopping.is_set():
            self._end_grace.set()
            self._lifespans.abort_entry()
        self._stopping.set()
        self._claim_loop.wake()

    def _drain_requested(self) -> None:
        if not self._stopping.is_set():  # a second `stop` would end the grace period
            self.on_drain()

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the job types that this worker runs."""
        return self._types

    @property
    def claiming(self) -> bool:
        """Whether the worker has entered its lifespans and claims jobs."""
        return self._claiming and not self._stopping.is_set()

    @property
    def busy(self) -> int:
        """How many handlers are running."""
        return len(self._slots.tasks)

    def _make_duties(self, polling: Polling, stagger: Stagger) -> list[ShardDuties]:
        row = described(self.id, self.client.jobs, self._types, self.concurrency)
        renew_interval = min(options.renew_interval for options in self._options.values())
        return [
            ShardDuties(
                shard, claims_on(shard, self._store, self._held_claims), self.client.jobs, row, self._observers,
                recovery=self._recovery, polling=polling, shortest_lease=self._shortest_lease,
                renew_interval=renew_interval, drain=self._drain_requested, stagger=stagger,
            )
            for shard in self._store.shards
        ]  # fmt: skip

    def _make_claim_loop(self, polling: Polling, stagger: Stagger) -> ClaimLoop:
        terms = tuple(options.for_claim() for options in self._options.values())
        return ClaimLoop(
            self._store,
            ClaimsInFlight(
                partial(Claimer, self._store, terms, self.id, shortest=self._shortest_lease),
                concurrency=self.concurrency,
            ),
            LeaseReaper(self._store, self._held_claims, self._observers, self.id, types=self._types),
            self._observers, self.id, types=self._types, polling=polling, recovery=self._recovery,
            stopping=self._stopping, stagger=stagger,
        )  # fmt: skip

    def _make_settler(self, shard: Store) -> Settler:
        return Settler(shard, self._observers, self._recovery, self.id, written=self._claim_loop.slot_freed)

    def _make_slots(self, middlewares: Iterable[Middleware], job_delay: float) -> Slots:
        runner = Runner(
            store=self._store, jobs=self.client.jobs, options=self._options, held_claims=self._held_claims,
            settler=self._settler, threads=self._threads, processes=self._processes, observers=self._observers,
            middlewares=middlewares, lifespans=self._lifespans, steps=self._steps,
        )  # fmt: skip
        return Slots(
            runner, self._held_claims, Durations(self._options.values()), self._steps, concurrency=self.concurrency,
            most_held=self._store.most_held, job_delay=job_delay, stopping=self._stopping,
            freed=self._claim_loop.slot_freed,
        )  # fmt: skip

    async def _wait_until_done(self, work: asyncio.Task[None]) -> None:
        """Await the end of the worker. After a cancellation it stops as after `stop`, so that no claim is left open."""
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

    async def _run_parts(self) -> None:
        if self._started:
            raise RuntimeError("a worker runs once; make another one")
        self._started = True
        act_as_handler()
        async with self._lifespans.entered(self) as entered:
            if entered:
                await self._work()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        blocked, threshold = self._slots.release_blocked, min(self._shortest_lease / 4, 5.0)
        watchdog = Watchdog(loop, self._held_claims, threshold=threshold, blocked=blocked)
        with ExitStack() as subscriptions:
            subscriptions.callback(self._store.wakeups.subscribe(self._claim_loop.receive))
            for duties in self._duties:
                duties.subscribe(subscriptions)
            start_threads([duties.renewer for duties in self._duties], watchdog)
            parts = [asyncio.create_task(self._settler.run(), name="holdfast-settler")]
            for duties in self._duties:
                parts += duties.start(ticks=self._ticks)
            reporting = [
                asyncio.create_task(duties.reporter.run(), name="holdfast-reporter") for duties in self._duties
            ]
            for task in parts:
                task.add_done_callback(self._stop_after_error)
            await declare_limits(self._store, self._options.values(), self._observers, self.id)
            self._claiming = True
            self._observers.emit("worker_started", worker=self.id, detail=", ".join(sorted(self._types)))
            try:
                await self._claim_loop.run(self._slots)
                await self._drain()
                for task in parts:
                    if task.done() and not task.cancelled():
                        task.result()
                if self._claim_loop.error is not None:
                    raise self._claim_loop.error
            finally:
                self._claiming = False
                subscriptions.close()
                await self._end(parts, reporting, watchdog)

    async def _end(
        self, parts: list[asyncio.Task[None]], reporting: list[asyncio.Task[None]], watchdog: Watchdog
    ) -> None:
        try:
            # The reporters are not cancelled at once: a report must not be written after the row was deleted.
            for duties in self._duties:
                duties.reporter.end()
            await asyncio.wait(reporting, timeout=shutdown.REMOVAL_TIMEOUT)
            self._steps.close()
            await shutdown.cancel_all((*parts, *reporting))
            # The event loop's own thread pool is not used here: handlers may have blocked all of its threads.
            renewers = [duties.renewer for duties in self._duties]
            await self._threads.run(partial(stop_threads, renewers, watchdog, shutdown.SHUTDOWN_TIMEOUT))
        finally:
            self._processes.close()
            self._threads.close()
            self._observers.emit("worker_stopped", worker=self.id)

    def _stop_after_error(self, part: asyncio.Task[None]) -> None:
        """Stop the worker because a part has failed: without that part, leases or settlements would not be written."""
        if not part.cancelled() and (error := part.exception()) is not None:
            log.error("%s failed: worker %s stops", part.get_name(), self.id, exc_info=error)
            self.stop()

    async def _drain(self) -> None:
        self._slots.release_ahead()
        if tasks := self._slots.tasks:
            for duties in self._duties:
                duties.reporter.stopping()
        self._observers.emit("worker_stopping", worker=self.id, detail=f"{len(tasks)} running")
        await shutdown.end_attempts(tasks, self._held_claims, self._settler, grace=self._grace, cut=self._end_grace)
