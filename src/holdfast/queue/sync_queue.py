"""The named queue for producers in blocking code: the same calls without await."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack

from holdfast.client import waiting
from holdfast.client.client_calls import no_trace
from holdfast.client.sync_client import SyncClient
from holdfast.core import defaults
from holdfast.core.job import Page
from holdfast.core.retry import Seconds
from holdfast.engine import procedures
from holdfast.engine.events import Event
from holdfast.engine.observers import Observer
from holdfast.engine.store import Store
from holdfast.queue import blockers
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
from holdfast.queue.event_relay import EVENTS, Relay
from holdfast.queue.event_stream import QueueEvent, stream_sync
from holdfast.queue.options import EnqueueKeywords
from holdfast.queue.queue_calls import QueueCalls, created
from holdfast.queue.queue_type import QueueType
from holdfast.registry.jobs import Jobs
from holdfast.registry.limits import AnyLimit
from holdfast.registry.plugin import Plugin
from holdfast.stores.address import StoreAddress

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class SyncQueue(Generic[P, R]):
    """A producer of a named queue for blocking code. Threads may share it.

    A `Queue` with a handler, in this process or another, runs its jobs.
    """

    def __init__(
        self,
        name: str,
        *,
        store: StoreAddress,
        max_retries: int | None = defaults.QUEUE_MAX_RETRIES,
        result_ttl: Seconds | None = defaults.RESULT_TTL,
        dedup_ttl: Seconds | None = None,
        payload_codec: PayloadCodec[P] | None = None,
        result_codec: PayloadCodec[R] | None = None,
        observers: Iterable[Observer | Callable[[Event], None]] = (),
        plugins: Iterable[Plugin] = (),
        trace: Callable[[], str | None] | None = None,
        limits: Iterable[AnyLimit] = (),
        migrate: bool = False,
    ) -> None:
        self.name = name
        self._type = QueueType(
            name, max_retries=max_retries, retry=None, visibility_timeout=defaults.VISIBILITY_TIMEOUT,
            result_ttl=result_ttl, dedup_ttl=dedup_ttl, timeout=None, payload_codec=payload_codec,
            result_codec=result_codec, limits=limits,
        )  # fmt: skip
        self._callbacks = Callbacks(EVENTS)
        jobs = Jobs("queue", plugins=plugins)
        jobs.add(self._type)
        relay = Relay(self._type, self._callbacks)
        self._client = SyncClient(store, jobs, migrate=migrate, observers=[relay, *observers])
        self._calls = QueueCalls(
            self._type, jobs, self._client.observers, trace or no_trace, sharded=self._client.store.sharded
        )
        self._running = False

    # Lifecycle

    def start(self) -> None:
        """Connect. Does nothing if the queue is started already."""
        if not self._running:
            self._client.open()
            self._running = True
            self._callbacks.emit("started")

    def stop(self) -> None:
        """Disconnect. A stopped queue can be started again."""
        if self._running:
            self._client.close()
            self._running = False
            self._callbacks.emit("stopped")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def on(self, event: str, callback: Callback) -> Callable[[], None]:
        """Add a callback for what this object does. Returns the function that removes it.

        started, stopped, enqueued(id), cancelled(id), error(exception).
        """
        return self._callbacks.on(event, callback)

    # Producing

    def enqueue(
        self, id: str, payload: P, *, tx: Any = None, **options: Unpack[EnqueueKeywords]
    ) -> Queued | Duplicate | Completed[R]:
        """Store a job under this id, unless the store has an unfinished or completed one whose id is not free yet.

        If several callers enqueue one id, exactly one gets Queued. The id of a failed or cancelled job is free.
        `max_attempts`, `result_ttl`, `dedup_ttl`, `delay` and `priority` apply to this job. `after` lists jobs that
        must complete first: ids of this queue, or chains. An id that the store does not have raises JobNotFound.
        """
        (answer,) = self.enqueue_many([(id, payload)], tx=tx, **options)
        return answer

    def enqueue_many(
        self, items: Iterable[tuple[str, P]], *, tx: Any = None, **options: Unpack[EnqueueKeywords]
    ) -> Answers[R]:
        """Enqueue many (id, payload) in one operation. The answers are in the same order."""
        self._open_store()
        after = blockers.listed(options.get("after", ()))
        jobs = self._calls.new_jobs(items, options)
        return self._calls.answers(self._client.tx_events.run(self._calls.enqueue(jobs, after), tx, created))

    def enqueue_and_wait(
        self, id: str, payload: P, *, timeout: Seconds | None = 30, **options: Unpack[EnqueueKeywords]
    ) -> R:
        """Enqueue, and wait for the result.

        Raises JobFailed (AttemptsExhausted after the last attempt), JobCancelled, WaitTimeout (the job continues), or
        JobNotFound for a completed job whose id is taken, but whose result is not kept any more.
        """
        store = self._open_store()
        result: R = waiting.run_sync(store, *self._calls.enqueue_and_wait(id, payload, options, timeout))
        return result

    def cancel(self, id: str) -> Cancelling:
        """Cancel a job that is not running. It will never run."""
        return self._perform(self._calls.cancel(id))

    # Reading

    def result(self, id: str) -> R | None:
        """The result of a completed job while it is kept; None in every other case."""
        result: R | None = self._perform(self._calls.result(id))
        return result

    def status(self, id: str) -> JobStatus[R] | None:
        """The status of a job; None if there is none, it was cancelled, or its time to live is over."""
        return self._perform(self._calls.status(id))

    def update_result_ttl(self, id: str, result_ttl: Seconds) -> Updating:
        """Keep the result or error of a finished job for this long from now; its id too, unless it has a dedup_ttl."""
        return self._perform(self._calls.update_result_ttl(id, result_ttl))

    def list(self, state: State | None = None, *, cursor: str | None = None, limit: int = 50) -> Page[JobStatus[R]]:
        """A page of the jobs in a state, or of all but the cancelled ones, newest first.

        `cursor` is the `next_cursor` of the page before. Jobs past their time to live are left out.
        """
        return self._perform(self._calls.list_jobs(state, cursor, limit))

    def counts(self) -> QueueCounts:
        """How many jobs are in each state, for the whole queue."""
        return self._perform(self._calls.counts())

    # Operating

    def pause(self, *, reason: str | None = None) -> None:
        """Stop every consumer from taking jobs of this queue, until `resume`. Running jobs continue.

        The audit shows the reason.
        """
        self._perform(self._calls.pause(reason))

    def resume(self, *, reason: str | None = None) -> None:
        """Let consumers take jobs of this queue again."""
        self._perform(self._calls.resume(reason))

    def events(self) -> Iterator[QueueEvent]:
        """The events of the queue's jobs from now on, in any process."""
        yield from stream_sync(self._open_store(), self._type)

    # Internal

    def _perform(self, call: procedures.Procedure[T]) -> T:
        self._open_store()
        return self._client.tx_events.run(call, None)

    def _open_store(self) -> Store:
        if not self._running:
            raise RuntimeError(f"queue {self.name!r} is not started; use `with queue`, or call queue.start()")
        return self._client.store
