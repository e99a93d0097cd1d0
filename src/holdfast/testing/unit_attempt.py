"""Attempts for unit tests of handlers: no store, no worker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from msgspec.structs import replace

from holdfast.client.sync_client import SyncClient
from holdfast.core.clock import SECOND
from holdfast.core.ids import new_token
from holdfast.core.job import Chain
from holdfast.core.record import Record
from holdfast.core.retry import Retry
from holdfast.engine.operations import ClaimJobs, Start, TypeTerms
from holdfast.registry.jobs import Bound, Jobs
from holdfast.stores.buffered_transaction import BufferedSyncTransaction, BufferedTransaction
from holdfast.stores.memory import MemoryStore
from holdfast.testing.builders import new_job
from holdfast.worker.abort_signal import Signal
from holdfast.worker.attempt import Attempt
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.held_claims import lease_clock
from holdfast.worker.steps.step_store import StepStore
from holdfast.worker.sync_attempt import SyncAttempt
from holdfast.worker.threads import Threads

LEASE = 3600 * SECOND


class UnitAttempt(Attempt[Any, Any, Any]):
    """An attempt of an async handler. `started` are its side chains, and `reported` its progress."""

    reported: list[tuple[float, str | None]]

    @property
    def started(self) -> list[Chain[Any]]:
        return self._completion.started

    async def progress(self, fraction: float, note: str | None = None) -> None:
        await super().progress(fraction, note)
        self.reported.append((fraction, note))


class SyncUnitAttempt(SyncAttempt[Any, Any, Any]):
    """An attempt of a plain handler."""

    reported: list[tuple[float, str | None]]

    @property
    def started(self) -> list[Chain[Any]]:
        return self._completion.started

    def progress(self, fraction: float, note: str | None = None) -> None:
        super().progress(fraction, note)
        self.reported.append((fraction, note))


@asynccontextmanager
async def unit_attempt(
    bound: Bound[Any, Any],
    *,
    tx: Any = None,
    blockers: tuple[Any, ...] = (),
    state: Any = None,
    attempt: int = 1,
    messages: Mapping[str, Any] | None = None,
) -> AsyncGenerator[UnitAttempt]:
    """An attempt of this call, for a test that calls the handler itself.

    ``async with unit_attempt(charge.bind(7), tx=connection) as attempt: assert await charge(attempt, 7) == "paid"``

    `tx` is what `prepare()`, `complete()` and `tx_step` give to the handler. A session of `session=` is committed at
    the end of the block, and rolled back after an error. `attempt` is the number of the attempt. `messages` are those
    that `receive` finds.
    """
    job = _UnitJob(bound, tx, attempt, messages, blockers)
    threads = Threads("holdfast-unit-test")
    made = _with_state(UnitAttempt(job.parts, threads=threads), state)
    try:
        yield made
        if job.completion.tx is not None:
            await job.completion.tx.commit()
    except BaseException:
        if job.completion.tx is not None:
            await job.completion.tx.rollback()
        raise
    finally:
        job.steps.close()
        threads.close()


@contextmanager
def sync_unit_attempt(
    bound: Bound[Any, Any],
    *,
    tx: Any = None,
    blockers: tuple[Any, ...] = (),
    state: Any = None,
    attempt: int = 1,
    messages: Mapping[str, Any] | None = None,
) -> Generator[SyncUnitAttempt]:
    """The same for a plain handler."""
    job = _UnitJob(bound, tx, attempt, messages, blockers)
    with _running_loop() as loop:
        made = _with_state(SyncUnitAttempt(job.parts, loop=loop), state)
        try:
            yield made
            if job.completion.tx is not None:
                job.completion.tx.commit()
        except BaseException:
            if job.completion.tx is not None:
                job.completion.tx.rollback()
            raise
        finally:
            loop.call_soon_threadsafe(job.steps.close)


@contextmanager
def _running_loop() -> Generator[asyncio.AbstractEventLoop]:
    """An event loop in a thread: the steps of a plain handler are stored on the loop of its worker."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="holdfast-unit-test")
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _UnitJob:
    """A claimed job in a store of its own, with what an attempt of it needs."""

    def __init__(
        self,
        bound: Bound[Any, Any],
        tx: Any,
        attempt: int,
        messages: Mapping[str, Any] | None,
        blockers: tuple[Any, ...],
    ) -> None:
        store, jobs = _UnitStore(tx), Jobs()
        jobs.add(bound.type)
        record = replace(_claimed(store, bound), attempt=attempt)
        for name, value in (messages or {}).items():
            SyncClient(store, jobs).send(record.chain_id, name, value)
        self.steps = StepStore(store, Retry())
        self.parts = AttemptParts.of(
            record, bound.type, Signal(), lease_clock(), store=store, jobs=jobs, step_store=self.steps,
            blockers=blockers,
        )  # fmt: skip
        self.completion = self.parts.completion


A = TypeVar("A", UnitAttempt, SyncUnitAttempt)


def _with_state(made: A, state: Any) -> A:
    made.state = state
    made.reported = []
    return made


def _claimed(store: MemoryStore, bound: Bound[Any, Any]) -> Record:
    name = bound.type.name
    store.perform_sync(Start((new_job(name, input=bound.input, id=bound.start_options.id),)))
    (record,) = store.perform_sync(ClaimJobs((TypeTerms(name, LEASE, 25),), 1, "unit-test", new_token()))
    return record


class _UnitStore(MemoryStore):
    """A memory store with one job, whose transactions have the connection of the test."""

    def __init__(self, tx: Any) -> None:
        super().__init__()
        self._tx = tx

    async def begin(self) -> BufferedTransaction:
        return _with_native(BufferedTransaction(self), self._tx)

    def begin_sync(self) -> BufferedSyncTransaction:
        return _with_native(BufferedSyncTransaction(self), self._tx)

    # A session of `session=`: the application's statements go to its database, and those of Holdfast to this store.

    def join(self, tx: Any) -> Any:
        return BufferedTransaction(self)

    def join_sync(self, tx: Any) -> Any:
        return BufferedSyncTransaction(self)


B = TypeVar("B", BufferedTransaction, BufferedSyncTransaction)


def _with_native(transaction: B, native: Any) -> B:
    transaction.native = native
    return transaction
