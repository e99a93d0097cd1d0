"""The current job of a chain while a caller completes it from outside: collects the completions of the body."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Generic, TypeVar, Unpack, cast, overload

from holdfast.client.client_calls import created
from holdfast.client.new_jobs import continuation, new_chain, with_continue_options, with_start_options
from holdfast.client.plugged_starts import Starts, plugged, with_carrier
from holdfast.core.clock import Clock, system_clock
from holdfast.core.details import started_details
from holdfast.core.job import Chain, Job
from holdfast.core.lifecycle import create
from holdfast.core.record import Record
from holdfast.core.waiting_cycles import check_batch
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers, event_about
from holdfast.engine.operations import Complete, Completion, Settled, Start, Started
from holdfast.engine.store import SyncTransaction, Transaction
from holdfast.engine.unawaited import UnawaitedCalls, check_statements
from holdfast.errors import AlreadyCompleted
from holdfast.registry.jobs import AnyBound, Bound, Jobs
from holdfast.registry.options import (
    ContinueKeywords,
    ContinueKeywordsWithoutAfter,
    StartKeywords,
    StartKeywordsWithoutAfter,
)

T = TypeVar("T")
S = TypeVar("S")
B = TypeVar("B")


class SharedCurrent:
    """What Current and SyncCurrent share: the completions so far. They are written together when the body ends."""

    def __init__(self, jobs: Jobs, record: Record, clock: Clock | None, chain_type: str | None) -> None:
        self._jobs = jobs
        self._type = jobs.get(record.type)
        """The type of the current job, if the registry of this client contains it."""
        # The output type of a chain is that of its first job, so it replaces an unknown type.
        self._output_type = self._type or (None if chain_type is None else jobs.get(chain_type))
        self._now = clock or system_clock
        self._first = record
        self._record = record
        self._completions: list[Completion] = []
        self._ends: list[Record] = []
        self._started: list[Chain[Any]] = []
        self._ended = record.status.finished

    @property
    def job(self) -> Job:
        """The current job of the chain; after `continue_with`, the new one."""
        return Job(self._record, self._jobs)

    def _output(self, value: Any) -> None:
        self._check_open()
        encoded = self._jobs.plain(value) if self._type is None else self._type.encode_output(value)
        self._take(Completion(output=encoded))
        self._ended = True

    def _continue_with(self, bound: AnyBound) -> None:
        self._check_open()
        if self._output_type is not None:
            self._output_type.check_next(bound)
        next_job = with_carrier(self._jobs, continuation(bound, self._record))
        self._take(Completion(continuation=next_job))
        self._record = create(next_job, self._now())
        self._type = self._output_type = bound.type

    def _take(self, completion: Completion) -> None:
        self._completions.append(completion)
        self._ends.append(self._record)

    def _starts(self, bound: AnyBound, options: dict[str, Any]) -> Starts:
        given = with_start_options(bound, cast("StartKeywords", options), call="current.start")
        new = new_chain(given, started_details(self._record.id, self._first.details))
        check_batch([new])
        return plugged(self._jobs, [new])

    def _record_started(self, started: Started) -> Chain[Any]:
        chain: Chain[Any] = Chain(started.chain, self._jobs, deduplicated=started.deduplicated)
        self._started.append(chain)
        return chain

    def _check_open(self) -> None:
        if self._ended:
            raise AlreadyCompleted(self._first.chain_id)

    def completion(self) -> Complete | None:
        """All completions as one operation; None if the body completed nothing."""
        if self._completions:
            return Complete(self._first.chain_id, self._first.id, tuple(self._completions))
        if self._started:
            raise RuntimeError("current.start() belongs to a completion: call output() or continue_with() as well")
        return None

    def events(self, observers: Observers, answer: Settled) -> list[Event]:
        """The events of the completions, without a worker. They are delivered after the commit."""
        done: list[Event] = []
        for record, completion in zip(self._ends, self._completions, strict=True):
            if (next_job := completion.continuation) is None:
                done.append(event_about("completed", record, worker=None))
            else:
                done.append(event_about("continued", record, worker=None, detail=next_job.type))
        done += created(observers, self._started)
        done += [event_about("unblocked", job_id=job_id, type=name) for job_id, name in answer.unblocked]
        return [event for event in done if observers.wants(event.kind)]


class Current(SharedCurrent, Generic[T]):
    """The current job of a chain with output T. The transaction locks it until the block ends."""

    def __init__(
        self, jobs: Jobs, record: Record, tx: Transaction, *, clock: Clock | None, chain_type: str | None
    ) -> None:
        super().__init__(jobs, record, clock, chain_type)
        self._tx = tx
        self._unawaited = UnawaitedCalls()

    @property
    def tx(self) -> Any:
        """The connection of this transaction; None on a store without transactions."""
        return self._tx.native

    def output(self, value: T) -> Coroutine[Any, Any, None]:
        """Complete the current job and thereby the chain with this output."""
        return self._unawaited.track("current.output(...)", self._output_async(value))

    @overload
    def continue_with(self, bound: Bound[T], **options: Unpack[ContinueKeywords]) -> Coroutine[Any, Any, Job]: ...

    @overload
    def continue_with(
        self, bound: Bound[T, B], *, after: B, **options: Unpack[ContinueKeywordsWithoutAfter]
    ) -> Coroutine[Any, Any, Job]: ...

    def continue_with(self, bound: Bound[T, Any], **options: Any) -> Coroutine[Any, Any, Job]:
        """Complete the current job with a continuation, which becomes the current job.

        TypeError if the continuation has another output type.
        """
        call = self._continue_with_async(with_continue_options(bound, cast("ContinueKeywords", options)))
        return self._unawaited.track("current.continue_with(...)", call)

    @overload
    def start(self, bound: Bound[S], **options: Unpack[StartKeywords]) -> Coroutine[Any, Any, Chain[S]]: ...

    @overload
    def start(
        self, bound: Bound[S, B], *, after: B, **options: Unpack[StartKeywordsWithoutAfter]
    ) -> Coroutine[Any, Any, Chain[S]]: ...

    def start(self, bound: Bound[S, Any], **options: Any) -> Coroutine[Any, Any, Chain[S]]:
        """Start a side chain in the transaction of the completion: it exists if and only if the completion does."""
        return self._unawaited.track("current.start(...)", self._start_async(self._starts(bound, options)))

    def completion(self) -> Complete | None:
        """As for SharedCurrent. RuntimeError for a call that was not awaited."""
        self._unawaited.check()
        check_statements(self._tx)
        return super().completion()

    async def _output_async(self, value: T) -> None:
        self._output(value)

    async def _continue_with_async(self, bound: Bound[T]) -> Job:
        self._continue_with(bound)
        return self.job

    async def _start_async(self, starts: Starts) -> Chain[Any]:
        with starts:
            (started,) = await self._tx.perform(Start(starts.jobs))
            starts.answered([started])
        return self._record_started(started)


class SyncCurrent(SharedCurrent, Generic[T]):
    """The same for blocking code."""

    def __init__(
        self, jobs: Jobs, record: Record, tx: SyncTransaction, *, clock: Clock | None, chain_type: str | None
    ) -> None:
        super().__init__(jobs, record, clock, chain_type)
        self._tx = tx

    @property
    def tx(self) -> Any:
        """The connection of this transaction; None on a store without transactions."""
        return self._tx.native

    def output(self, value: T) -> None:
        """Complete the current job and thereby the chain with this output."""
        self._output(value)

    @overload
    def continue_with(self, bound: Bound[T], **options: Unpack[ContinueKeywords]) -> Job: ...

    @overload
    def continue_with(
        self, bound: Bound[T, B], *, after: B, **options: Unpack[ContinueKeywordsWithoutAfter]
    ) -> Job: ...

    def continue_with(self, bound: Bound[T, Any], **options: Any) -> Job:
        """Complete the current job with a continuation, which becomes the current job.

        TypeError if the continuation has another output type.
        """
        self._continue_with(with_continue_options(bound, cast("ContinueKeywords", options)))
        return self.job

    @overload
    def start(self, bound: Bound[S], **options: Unpack[StartKeywords]) -> Chain[S]: ...

    @overload
    def start(self, bound: Bound[S, B], *, after: B, **options: Unpack[StartKeywordsWithoutAfter]) -> Chain[S]: ...

    def start(self, bound: Bound[S, Any], **options: Any) -> Chain[S]:
        """Start a side chain in the transaction of the completion: it exists if and only if the completion does."""
        with self._starts(bound, options) as starts:
            (started,) = self._tx.perform(Start(starts.jobs))
            starts.answered([started])
        return self._record_started(started)
