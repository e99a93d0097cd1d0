"""Completes a chain's current job from outside a worker, for example after an approval or a webhook."""

from __future__ import annotations

import _thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from holdfast.client.current_job import Current, SharedCurrent, SyncCurrent
from holdfast.client.references import Target
from holdfast.client.tx_events import SyncTxEvents, TxEvents
from holdfast.core.record import Record
from holdfast.engine.events import Event
from holdfast.engine.observers import Observers
from holdfast.engine.operations import LockChain, Settled
from holdfast.engine.procedures import Procedure, run, run_sync
from holdfast.engine.rollback import roll_back
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.registry.jobs import Jobs

T = TypeVar("T")


class SharedCompleting:
    """What Completing and SyncCompleting share: the procedures at the beginning and at the end of the block.

    Both run in one transaction, the application's `tx` or a new one.
    """

    def __init__(self, store: Store, jobs: Jobs, target: Target, *, tx: Any, observers: Observers) -> None:
        self._store = store.shard_of(target.chain_id)
        self._jobs = jobs
        self._observers = observers
        self._target = target
        self._native = tx

    def _lock(self) -> Procedure[Record]:
        """Lock the chain, and return its current job. Raises if it is not the expected one."""
        record: Record = yield LockChain(self._target.chain_id)
        self._target.check(record)
        return record

    def _complete(self, current: SharedCurrent) -> Procedure[list[Event]]:
        """Write the completions of the body. Returns their events, which must be delivered after the commit."""
        completion = current.completion()
        if completion is None:
            return []
        answer: Settled = yield completion
        return current.events(self._observers, answer)


class Completing(SharedCompleting, Generic[T]):
    """Locks the current job of a chain while the body runs. Writes the completions if the body does not raise.

    With `tx`, the application commits. Without, the block is a transaction of its own.
    """

    def __init__(
        self, store: Store, jobs: Jobs, target: Target, *, tx: Any, observers: Observers, tx_events: TxEvents
    ) -> None:
        super().__init__(store, jobs, target, tx=tx, observers=observers)
        self._tx_events = tx_events
        self._joined: AppTransaction | None = None

    async def __aenter__(self) -> Current[T]:
        await self._tx_events.look(ended=self._native is not None)
        self._joined = None if self._native is None else self._store.join(self._native)
        self._tx: Transaction = self._joined or await self._store.begin()
        try:
            record = await run(self._tx.perform, self._lock())
        except BaseException as error:
            await self._roll_back(error)
            raise
        self._current: Current[T] = Current(
            self._jobs, record, self._tx, clock=self._store.clock, chain_type=self._target.chain_type
        )
        return self._current

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            await self._roll_back(error)
            return
        try:
            events = await run(self._tx.perform, self._complete(self._current))
        except BaseException as raised:
            await self._roll_back(raised)
            raise
        if self._joined is not None:
            await self._tx_events.hold(events, self._joined)
        else:
            await self._tx.commit()
            self._observers.deliver(events)

    async def _roll_back(self, error: BaseException) -> None:
        if self._joined is None:
            await roll_back(self._tx, error)


class SyncCompleting(SharedCompleting, Generic[T]):
    """The same for blocking code."""

    _open: SyncTransaction | None = None
    """The transaction that this block must end."""

    def __init__(
        self, store: Store, jobs: Jobs, target: Target, *, tx: Any, observers: Observers, tx_events: SyncTxEvents
    ) -> None:
        super().__init__(store, jobs, target, tx=tx, observers=observers)
        self._tx_events = tx_events
        self._joined: SyncAppTransaction | None = None

    def __enter__(self) -> SyncCurrent[T]:
        self._tx_events.look(ended=self._native is not None)
        self._joined = None if self._native is None else self._store.join_sync(self._native)
        self._tx: SyncTransaction = self._joined or self._begin()
        self._open = None if self._joined is not None else self._tx
        try:
            record = run_sync(self._tx.perform, self._lock())
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
        try:
            events = run_sync(self._tx.perform, self._complete(self._current))
        except BaseException:
            self._roll_back()
            raise
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
        # A signal handler may raise when `__exit__` is entered, before its first line.
        if self._open is not None:
            _thread.start_new_thread(self._open.rollback, ())
