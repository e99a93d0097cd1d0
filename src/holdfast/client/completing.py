"""Completes a chain's current job from outside a worker, for example after an approval or a webhook."""

from __future__ import annotations

import _thread
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Generic, TypeVar, Unpack

from holdfast.client.client_calls import created
from holdfast.client.new_jobs import continuation, new_chain, with_continue_options, with_start_options
from holdfast.client.references import Target
from holdfast.client.tx_events import SyncTxEvents, TxEvents
from holdfast.core.clock import Clock, system_clock
from holdfast.core.job import Chain, Job
from holdfast.core.lifecycle import create
from holdfast.core.record import Record
from holdfast.core.waiting_cycles import check_batch
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers, event_about
from holdfast.engine.operations import Complete, Completion, LockChain, Settled, Start, Started
from holdfast.engine.rollback import roll_back
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.engine.unawaited import UnawaitedCalls
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.errors import AlreadyCompleted
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import ContinueKeywords, StartKeywords

T = TypeVar("T")
S = TypeVar("S")


class _Steps:
    """The completions taken so far. They are written as one, when the body ends."""

    def __init__(self, jobs: Jobs, record: Record, clock: Clock | None, chain_type: str | None) -> None:
        self._jobs = jobs
        self._type = jobs.get(record.type)
        """Of the current job, where this client knows it."""
        # A chain gives what the type of its first job says, so that type stands in for an unknown one.
        self._gives = self._type or (None if chain_type is None else jobs.get(chain_type))
        self._now = clock or system_clock
        self._first = record
        self._record = record
        self._completions: list[Completion] = []
        self._ends: list[Record] = []
        self._started: list[Chain[Any]] = []
        self._ended = record.status.finished

    @property
    def job(self) -> Job:
        """The chain's current job; after `continue_with`, the new one."""
        return Job(self._record, self._jobs)

    def _output(self, value: Any) -> None:
        self._check_open()
        encoded = self._jobs.plain(value) if self._type is None else self._type.encode_output(value)
        self._take(Completion(output=encoded))
        self._ended = True

    def _continue_with(self, bound: Bound[Any]) -> None:
        self._check_open()
        if self._gives is not None:
            self._gives.check_next(bound)
        next_job = continuation(bound, self._record)
        self._take(Completion(continuation=next_job))
        self._record = create(next_job, self._now())
        self._type = self._gives = bound.type

    def _take(self, completion: Completion) -> None:
        self._completions.append(completion)
        self._ends.append(self._record)

    def _start_operation(self, bound: Bound[Any], options: StartKeywords) -> Start:
        new = new_chain(with_start_options(bound, options, call="current.start"), self._first.trace)
        check_batch([new])
        return Start((new,))

    def _record_started(self, started: Started) -> Chain[Any]:
        chain: Chain[Any] = Chain(started.chain, self._jobs, deduplicated=started.deduplicated)
        self._started.append(chain)
        return chain

    def _check_open(self) -> None:
        if self._ended:
            raise AlreadyCompleted(self._first.chain_id)

    def completion(self) -> Complete | None:
        """The whole as one operation; None if the body only looked."""
        if self._completions:
            return Complete(self._first.chain_id, self._first.id, tuple(self._completions))
        if self._started:
            raise RuntimeError("current.start() belongs to a completion: call output() or continue_with() as well")
        return None

    def events(self, observers: Observers, answer: Settled) -> list[Event]:
        """What was done, and by no worker: to be delivered once it is committed."""
        done: list[Event] = []
        for record, completion in zip(self._ends, self._completions, strict=True):
            if (next_job := completion.continuation) is None:
                done.append(event_about("completed", record, worker=None))
            else:
                done.append(event_about("continued", record, worker=None, detail=next_job.type))
        done += created(observers, self._started)
        done += [event_about("unblocked", job_id=job_id, type=name) for job_id, name in answer.unblocked]
        return [event for event in done if observers.wants(event.kind)]


class Current(_Steps, Generic[T]):
    """The current job of a chain whose output is T, held for completion."""

    def __init__(
        self, jobs: Jobs, record: Record, tx: Transaction, *, clock: Clock | None, chain_type: str | None
    ) -> None:
        super().__init__(jobs, record, clock, chain_type)
        self._tx = tx
        self._unawaited = UnawaitedCalls()

    @property
    def tx(self) -> Any:
        """The connection of this transaction; None on a store that has none."""
        return self._tx.native

    def output(self, value: T) -> Coroutine[Any, Any, None]:
        """Complete the current job, and so the chain, with this output."""
        return self._unawaited.track("current.output(...)", self._output_async(value))

    def continue_with(self, bound: Bound[T], **options: Unpack[ContinueKeywords]) -> Coroutine[Any, Any, Job]:
        """Complete the current job by handing over to the next one, which becomes current.

        TypeError if the next one gives an output of another type than the current one.
        """
        call = self._continue_with_async(with_continue_options(bound, options))
        return self._unawaited.track("current.continue_with(...)", call)

    def start(self, bound: Bound[S], **options: Unpack[StartKeywords]) -> Coroutine[Any, Any, Chain[S]]:
        """Start a side chain that exists if, and only if, this completion does."""
        return self._unawaited.track("current.start(...)", self._start_async(self._start_operation(bound, options)))

    def completion(self) -> Complete | None:
        """The whole as one operation; None if the body only looked. RuntimeError for a call that was not awaited."""
        self._unawaited.check()
        return super().completion()

    async def _output_async(self, value: T) -> None:
        self._output(value)

    async def _continue_with_async(self, bound: Bound[T]) -> Job:
        self._continue_with(bound)
        return self.job

    async def _start_async(self, start: Start) -> Chain[Any]:
        (started,) = await self._tx.perform(start)
        return self._record_started(started)


class SyncCurrent(_Steps, Generic[T]):
    """The same for blocking code."""

    def __init__(
        self, jobs: Jobs, record: Record, tx: SyncTransaction, *, clock: Clock | None, chain_type: str | None
    ) -> None:
        super().__init__(jobs, record, clock, chain_type)
        self._tx = tx

    @property
    def tx(self) -> Any:
        """The connection of this transaction; None on a store that has none."""
        return self._tx.native

    def output(self, value: T) -> None:
        """Complete the current job, and so the chain, with this output."""
        self._output(value)

    def continue_with(self, bound: Bound[T], **options: Unpack[ContinueKeywords]) -> Job:
        """Complete the current job by handing over to the next one, which becomes current.

        TypeError if the next one gives an output of another type than the current one.
        """
        self._continue_with(with_continue_options(bound, options))
        return self.job

    def start(self, bound: Bound[S], **options: Unpack[StartKeywords]) -> Chain[S]:
        """Start a side chain that exists if, and only if, this completion does."""
        (started,) = self._tx.perform(self._start_operation(bound, options))
        return self._record_started(started)


class Completing(Generic[T]):
    """Holds a chain's current job while the body decides; writes when it ends well, nothing when it raises.

    With the application's own `tx` the commit is the application's; without, the body is a transaction of its own.
    """

    def __init__(
        self, store: Store, jobs: Jobs, target: Target, *, tx: Any, observers: Observers, tx_events: TxEvents
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._observers = observers
        self._tx_events = tx_events
        self._target = target
        self._native = tx
        self._joined: AppTransaction | None = None

    async def __aenter__(self) -> Current[T]:
        await self._tx_events.look(ended=self._native is not None)
        self._joined = None if self._native is None else self._store.join(self._native)
        self._tx: Transaction = self._joined or await self._store.begin()
        try:
            record = await self._tx.perform(LockChain(self._target.chain_id))
            self._target.check(record)
        except BaseException as error:
            if self._joined is None:
                await roll_back(self._tx, error)
            raise
        self._current: Current[T] = Current(
            self._jobs, record, self._tx, clock=self._store.clock, chain_type=self._target.chain_type
        )
        return self._current

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            if self._joined is None:
                await roll_back(self._tx, error)
            return
        answer: Settled | None = None
        try:
            if (completion := self._current.completion()) is not None:
                answer = await self._tx.perform(completion)
        except BaseException as raised:
            if self._joined is None:
                await roll_back(self._tx, raised)
            raise
        events = [] if answer is None else self._current.events(self._observers, answer)
        if self._joined is not None:
            await self._tx_events.hold(events, self._joined)
        else:
            await self._tx.commit()
            self._observers.deliver(events)


class SyncCompleting(Generic[T]):
    """The same for blocking code."""

    _open: SyncTransaction | None = None
    """The transaction that is to be ended here."""

    def __init__(
        self, store: Store, jobs: Jobs, target: Target, *, tx: Any, observers: Observers, tx_events: SyncTxEvents
    ) -> None:
        self._store = store
        self._jobs = jobs
        self._observers = observers
        self._tx_events = tx_events
        self._target = target
        self._native = tx
        self._joined: SyncAppTransaction | None = None

    def __enter__(self) -> SyncCurrent[T]:
        self._tx_events.look(ended=self._native is not None)
        self._joined = None if self._native is None else self._store.join_sync(self._native)
        self._tx: SyncTransaction = self._joined or self._begin()
        self._open = None if self._joined is not None else self._tx
        try:
            record = self._tx.perform(LockChain(self._target.chain_id))
            self._target.check(record)
            self._current: SyncCurrent[T] = SyncCurrent(
                self._jobs, record, self._tx, clock=self._store.clock, chain_type=self._target.chain_type
            )
        except BaseException:
            self._roll_back()
            raise
        return self._current

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._roll_back()
            return
        answer: Settled | None = None
        try:
            if (completion := self._current.completion()) is not None:
                answer = self._tx.perform(completion)
        except BaseException:
            self._roll_back()
            raise
        events = [] if answer is None else self._current.events(self._observers, answer)
        if self._joined is not None:
            self._tx_events.hold(events, self._joined)
        else:
            uninterrupted(self._tx.commit)
            self._open = None
            self._observers.deliver(events)

    def _begin(self) -> SyncTransaction:
        return uninterrupted(self._store.begin_sync, undo=lambda begun: begun.rollback())

    def _roll_back(self) -> None:
        if self._joined is None:
            uninterrupted(self._tx.rollback)
            self._open = None

    def __del__(self) -> None:
        # An exception of a signal handler may come when `__exit__` is entered, before its first line.
        if self._open is not None:
            _thread.start_new_thread(self._open.rollback, ())
