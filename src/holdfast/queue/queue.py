"""The named queue: a small layer over the client and the worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from holdfast.client import waiting
from holdfast.client.client import Client
from holdfast.client.client_calls import no_trace
from holdfast.core import defaults
from holdfast.core.job import Page
from holdfast.core.retry import Retry, Seconds
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer
from holdfast.engine.store import Store
from holdfast.queue import blockers
from holdfast.queue.after_execution import Hook
from holdfast.queue.answers import (
    Answers,
    Cancelling,
    Completed,
    Duplicate,
    JobStatus,
    QueueCounts,
    Queued,
    State,
    Updating,
)
from holdfast.queue.callbacks import Callback, Callbacks
from holdfast.queue.codecs import PayloadCodec
from holdfast.queue.consumer import Consumer
from holdfast.queue.event_relay import EVENTS, Relay
from holdfast.queue.event_stream import QueueEvent, stream
from holdfast.queue.options import EnqueueKeywords
from holdfast.queue.queue_calls import QueueCalls, created
from holdfast.queue.queue_job import QueueJob
from holdfast.queue.queue_type import QueueType
from holdfast.registry.jobs import AnyJobType, Jobs
from holdfast.registry.limits import AnyLimit
from holdfast.registry.plugin import Plugin
from holdfast.stores.address import StoreAddress
from holdfast.worker import Middleware

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Queue(Generic[P, R]):
    """Runs jobs under ids that the caller chooses, at least once each, and keeps their results for a while.

    A producer enqueues, a consumer runs jobs; one object may do either or both, between `start` and `stop` (or within
    `async with`). Queues with different names on one store are independent.
    """

    def __init__(
        self,
        name: str,
        *,
        store: StoreAddress,
        concurrency: int = defaults.QUEUE_CONCURRENCY,
        max_retries: int | None = defaults.QUEUE_MAX_RETRIES,
        retry: Retry | None = None,
        visibility_timeout: Seconds = defaults.VISIBILITY_TIMEOUT,
        renew_interval: Seconds | None = None,
        result_ttl: Seconds | None = defaults.RESULT_TTL,
        dedup_ttl: Seconds | None = None,
        timeout: Seconds | None = None,
        mismatch_timeout: Seconds = defaults.MISMATCH_TIMEOUT,
        payload_codec: PayloadCodec[P] | None = None,
        result_codec: PayloadCodec[R] | None = None,
        after_execution: Hook | None = None,
        grace: Seconds = defaults.GRACE,
        poll_interval: Seconds = defaults.POLL_INTERVAL,
        worker_id: str | None = None,
        middlewares: Iterable[Middleware] = (),
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        plugins: Iterable[Plugin] = (),
        trace: Callable[[], str | None] | None = None,
        limits: Iterable[AnyLimit] = (),
        migrate: bool = False,
    ) -> None:
        """`max_retries` counts the attempts after the first (None: no limit); `retry` sets the delay between them.

        A job whose worker does not renew it for `visibility_timeout` returns to the queue. The worker renews it every
        `renew_interval`, by default three times in that time. `timeout` is the time limit of one attempt. A payload
        that the codec cannot decode waits for another consumer, and fails `mismatch_timeout` after the first try.
        `result_ttl` is how long results and errors are kept (None: forever). `dedup_ttl` is how long the id of a
        completed job is taken, counted from its completion (None: as long as its result is kept). `grace` is how long
        `stop` waits for running jobs before it releases them.
        """
        self.name = name
        self._type = QueueType(
            name, max_retries=max_retries, retry=retry, visibility_timeout=visibility_timeout,
            renew_interval=renew_interval, result_ttl=result_ttl, dedup_ttl=dedup_ttl, timeout=timeout,
            payload_codec=payload_codec, result_codec=result_codec, limits=limits,
        )  # fmt: skip
        self._callbacks = Callbacks(EVENTS)
        self._relay = Relay(self._type, self._callbacks)
        jobs = Jobs("queue", plugins=plugins)
        jobs.add(self._type)
        self._client = Client(store, jobs, migrate=migrate, observers=[self._relay, *observers])
        self._calls = QueueCalls(
            self._type, jobs, self._client.observers, trace or no_trace, sharded=self._client.store.sharded
        )
        self._consumer = Consumer(
            self._client, self._type, relay=self._relay, callbacks=self._callbacks, after_execution=after_execution,
            concurrency=concurrency, grace=grace, poll_interval=poll_interval, worker_id=worker_id,
            middlewares=middlewares, mismatch_timeout=mismatch_timeout,
        )  # fmt: skip
        self._running = False

    @property
    def job_type(self) -> AnyJobType:
        """The job type of the queue. After `jobs.add(queue.job_type)`, the workers of that registry run it too."""
        return self._type

    # Lifecycle

    async def start(self) -> None:
        """Connect, and run jobs if there is a handler. Does nothing if the queue is started already."""
        if self._running:
            return
        await self._client.open()
        self._running = True
        self._relay.attach()
        if self._type.function is not None:
            self._consumer.begin()
        self._callbacks.emit("started")

    async def stop(self) -> None:
        """Claim no more jobs, wait for the running ones within the grace period, release the rest, and disconnect.

        A released job keeps its place in the queue, and another consumer can claim it at once. A stopped queue can be
        started again.
        """
        if not self._running:
            return
        self._running = False
        try:
            await self._consumer.end()
        finally:
            self._relay.forget()
            await self._client.close()
            self._callbacks.emit("stopped")

    async def run(self) -> None:
        """Start, and run jobs until this task is cancelled, or the process receives SIGTERM or SIGINT."""
        if self._type.function is None:
            raise RuntimeError(f"queue {self.name!r} has no handler; call execute(handler) first")
        if self._running:
            raise RuntimeError(f"queue {self.name!r} is running already")
        await self._client.open()
        self._running = True
        self._relay.attach()
        self._callbacks.emit("started")
        try:
            await self._consumer.run()
        finally:
            await self.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # Consuming

    @overload
    def execute(self, handler: Callable[[QueueJob[P]], Awaitable[R]], /) -> Callable[[QueueJob[P]], Awaitable[R]]: ...

    @overload
    def execute(self, handler: Callable[[QueueJob[P]], R], /) -> Callable[[QueueJob[P]], R]: ...

    def execute(self, handler: Callable[[QueueJob[P]], Any], /) -> Callable[[QueueJob[P]], Any]:
        """Run the queue's jobs with this handler: `handler(job)`, async on the event loop, plain in a thread.

        The queue may be running. A second call replaces the handler for later attempts.
        """
        self._type.execute(handler)
        if self._running:
            self._consumer.begin()
        return handler

    def on(self, event: str, callback: Callback) -> Callable[[], None]:
        """Add a callback for what this object does, called after the commit. Returns the function that removes it.

        started, stopped, enqueued(id), completed(id, result), failed(id, error), failing(id, error, attempt),
        requeued(id), cancelled(id), stalled(id), error(exception). A callback may take fewer values.
        """
        return self._callbacks.on(event, callback)

    # Producing

    async def enqueue(
        self, id: str, payload: P, *, tx: Any = None, **options: Unpack[EnqueueKeywords]
    ) -> Queued | Duplicate | Completed[R]:
        """Store a job under this id, unless the store has an unfinished or completed one whose id is not free yet.

        If several callers enqueue one id, exactly one gets Queued. The id of a failed or cancelled job is free.
        `max_attempts`, `result_ttl`, `dedup_ttl`, `delay` and `priority` apply to this job. `after` lists jobs that
        must complete first: ids of this queue, or chains. With `when="failed"` or `when="ended"` one of them must fail,
        or all must end. `replace`, `debounce` and `debounce_max` change a job that has not begun. An id that the store
        does not have raises JobNotFound.
        """
        (answer,) = await self.enqueue_many([(id, payload)], tx=tx, **options)
        return answer

    async def enqueue_many(
        self, items: Iterable[tuple[str, P]], *, tx: Any = None, **options: Unpack[EnqueueKeywords]
    ) -> Answers[R]:
        """Enqueue many (id, payload) in one operation. The answers are in the same order."""
        self._open_store()
        after = blockers.listed(options.get("after", ()))
        jobs = self._calls.new_jobs(items, options)
        return self._calls.answers(await self._client.tx_events.run(self._calls.enqueue(jobs, after), tx, created))

    async def enqueue_and_wait(
        self, id: str, payload: P, *, timeout: Seconds | None = 30, **options: Unpack[EnqueueKeywords]
    ) -> R:
        """Enqueue, and wait for the result. Any number of callers may wait for one id.

        Raises JobFailed (AttemptsExhausted after the last attempt), JobCancelled, WaitTimeout (the job continues), or
        JobNotFound for a completed job whose id is taken, but whose result is not kept any more.
        """
        store = self._open_store()
        result: R = await waiting.run(store, *self._calls.enqueue_and_wait(id, payload, options, timeout))
        return result

    async def cancel(self, id: str) -> Cancelling:
        """Cancel a job that is not running. It will never run.

        Returns "cancelled", "processing" (not changed), "completed" (also for a failed job) or "not_found".
        """
        return await self._perform(self._calls.cancel(id))

    # Reading

    async def result(self, id: str) -> R | None:
        """The result of a completed job while it is kept; None in every other case."""
        result: R | None = await self._perform(self._calls.result(id))
        return result

    async def status(self, id: str) -> JobStatus[R] | None:
        """The status of a job; None if there is none, it was cancelled, or its time to live is over."""
        return await self._perform(self._calls.status(id))

    async def update_result_ttl(self, id: str, result_ttl: Seconds) -> Updating:
        """Keep the result or error of a finished job for this long from now; its id too, unless it has a dedup_ttl."""
        return await self._perform(self._calls.update_result_ttl(id, result_ttl))

    async def list(
        self, state: State | None = None, *, cursor: str | None = None, limit: int = 50
    ) -> Page[JobStatus[R]]:
        """A page of the jobs in a state, or of all but the cancelled ones, newest first.

        `cursor` is the `next_cursor` of the page before. Jobs past their time to live are left out.
        """
        return await self._perform(self._calls.list_jobs(state, cursor, limit))

    async def counts(self) -> QueueCounts:
        """How many jobs are in each state, for the whole queue."""
        return await self._perform(self._calls.counts())

    # Operating

    async def pause(self, *, reason: str | None = None) -> None:
        """Stop every consumer from taking jobs of this queue, until `resume`. Running jobs continue.

        The audit shows the reason.
        """
        await self._perform(self._calls.pause(reason))

    async def resume(self, *, reason: str | None = None) -> None:
        """Let consumers take jobs of this queue again."""
        await self._perform(self._calls.resume(reason))

    async def events(self) -> AsyncIterator[QueueEvent]:
        """The events of the queue's jobs from now on, in any process."""
        async for event in stream(self._open_store(), self._type):
            yield event

    # Internal

    async def _perform(self, call: procedures.Procedure[T]) -> T:
        self._open_store()
        return await self._client.tx_events.run(call, None)

    def _open_store(self) -> Store:
        if not self._running:
            raise RuntimeError(f"queue {self.name!r} is not started; use `async with queue`, or await queue.start()")
        return self._client.store
