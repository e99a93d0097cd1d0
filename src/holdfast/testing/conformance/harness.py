"""The test harness of a case: a store, a manual clock, and one interface for blocking and async operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from enum import Enum
from typing import Any, TypeVar

from holdfast.core.clock import duration
from holdfast.core.failure import ErrorText, read_error
from holdfast.core.ids import new_token
from holdfast.core.lifecycle import NewJob, Settlement
from holdfast.core.record import ChainRecord, Record
from holdfast.core.retry import Seconds, seconds
from holdfast.engine.operations import (
    ClaimJobs,
    Filter,
    GetChains,
    GetHistory,
    GetJobs,
    ListJobs,
    Operation,
    PastAttempt,
    Reap,
    Reaped,
    Settle,
    Settled,
    Start,
    Started,
    TypeTerms,
)
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.engine.wake_flag import WakeFlag
from holdfast.errors import HoldfastError
from holdfast.testing.builders import completed, new_job
from holdfast.testing.clock import ManualClock
from holdfast.testing.conformance.barrier import TIMEOUT, race_tasks, race_threads

R = TypeVar("R")
E = TypeVar("E", bound=HoldfastError)

StoreFactory = Callable[[], Store]
"""Returns a store object for the same data at each call: a new object if the store allows several."""

LEASE = 30
"""The default lease of a claim, in seconds."""


class Mode(Enum):
    """Which methods of the store perform the operations."""

    SYNC = "sync"
    ASYNC = "async"


class Performer(ABC):
    """Performs operations: a store or a transaction."""

    @abstractmethod
    async def perform(self, operation: Operation[R]) -> R: ...

    async def refused(self, error: type[E], operation: Operation[Any]) -> E:
        """Perform an operation that must raise this error, and return the error."""
        try:
            await self.perform(operation)
        except error as raised:
            return raised
        raise AssertionError(f"{operation.verb} did not raise {error.__name__}")


class OpenTransaction(Performer):
    """A transaction of the store, blocking or async behind the same methods."""

    def __init__(self, tx: Transaction | SyncTransaction, mode: Mode) -> None:
        self._tx: Any = tx
        self._mode = mode

    async def perform(self, operation: Operation[R]) -> R:
        answer = self._tx.perform(operation)
        return answer if self._mode is Mode.SYNC else await answer  # type: ignore[no-any-return]

    async def commit(self) -> None:
        done = self._tx.commit()
        if self._mode is Mode.ASYNC:
            await done

    async def rollback(self) -> None:
        done = self._tx.rollback()
        if self._mode is Mode.ASYNC:
            await done


class Harness(Performer):
    """An empty store, and short forms of the operations that cases need.

    Cases are coroutines. In blocking mode they never suspend, so they need no event loop, and `race` can run them in
    threads.
    """

    def __init__(self, make_store: StoreFactory, mode: Mode, clock: ManualClock | None = None) -> None:
        self.store = make_store()
        self.clock = ManualClock() if clock is None else clock
        self.store.clock = self.clock
        self.mode = mode
        self._make_store = make_store
        self._others: list[Harness] = []

    async def open(self) -> None:
        if self.mode is Mode.SYNC:
            self.store.open_sync()
        else:
            await self.store.open()

    async def close(self) -> None:
        for other in reversed(self._others):
            await other.close()
        if self.mode is Mode.SYNC:
            self.store.close_sync()
        else:
            await self.store.close()

    async def second_store(self) -> Harness:
        """Another store object for the same data, with the same clock. It has its own connection, if any."""
        other = Harness(self._make_store, self.mode, self.clock)
        self._others.append(other)
        await other.open()
        return other

    async def perform(self, operation: Operation[R]) -> R:
        """Perform one operation. It is committed when this returns."""
        if self.mode is Mode.SYNC:
            return self.store.perform_sync(operation)
        return await self.store.perform(operation)

    async def begin(self) -> OpenTransaction:
        """Begin a transaction of the store."""
        tx = self.store.begin_sync() if self.mode is Mode.SYNC else await self.store.begin()
        return OpenTransaction(tx, self.mode)

    async def begin_lazily(self) -> OpenTransaction:
        """A transaction of the store that may begin with its first operation."""
        sync = self.mode is Mode.SYNC
        return OpenTransaction(self.store.begin_lazily_sync() if sync else await self.store.begin_lazily(), self.mode)

    async def race(self, actions: Sequence[Coroutine[Any, Any, R]]) -> list[R | HoldfastError]:
        """Run these at the same time, each in its own thread or task. A barrier starts them when all are ready.

        Results are in order. A HoldfastError is returned as a result.
        """
        return race_threads(actions) if self.mode is Mode.SYNC else await race_tasks(actions)

    async def wait(self, wake_flag: WakeFlag) -> bool:
        """Wait until the flag is set. False after the timeout."""
        return wake_flag.wait_sync(TIMEOUT) if self.mode is Mode.SYNC else await wake_flag.wait(TIMEOUT)

    async def start(self, *jobs: NewJob) -> list[Started]:
        return await self.perform(Start(jobs))

    async def started(self, *jobs: NewJob) -> Record:
        """Start chains (a default one if none is given). Returns the first job of the last one."""
        return (await self.start(*(jobs or (new_job(),))))[-1].chain.first

    async def claim(
        self,
        *types: str,
        limit: int = 1,
        worker: str = "worker-1",
        token: str | None = None,
        lease: Seconds = LEASE,
        max_attempts: int = 25,
        again: bool = False,
    ) -> list[Record]:
        terms = tuple(TypeTerms(type, duration(seconds(lease)), max_attempts) for type in types or ("resize",))
        return await self.perform(ClaimJobs(terms, limit, worker, new_token() if token is None else token, again))

    async def claimed(
        self,
        job: NewJob | None = None,
        *,
        worker: str = "worker-1",
        token: str | None = None,
        lease: Seconds = LEASE,
        max_attempts: int = 25,
    ) -> Record:
        """Start a chain and claim its job. No other job of the type may be due before it."""
        job = new_job() if job is None else job
        await self.start(job)
        record = await self.claim_one(job.type, worker=worker, token=token, lease=lease, max_attempts=max_attempts)
        assert record.id == job.id
        return record

    async def claim_one(
        self,
        type: str = "resize",
        *,
        worker: str = "worker-1",
        token: str | None = None,
        lease: Seconds = LEASE,
        max_attempts: int = 25,
    ) -> Record:
        """Claim the first due job of the type."""
        (record,) = await self.claim(type, worker=worker, token=token, lease=lease, max_attempts=max_attempts)
        return record

    async def settle(self, *settlements: Settlement) -> list[Settled]:
        return await self.perform(Settle(settlements))

    async def settled(self, settlement: Settlement) -> Settled:
        """Settle one attempt. The settlement must be written."""
        (answer,) = await self.settle(settlement)
        assert (answer.lost, answer.refused) == (None, None)
        return answer

    async def completed(self, *jobs: NewJob) -> Record:
        """Start a chain, complete it, and return its job."""
        job = await self.claimed(*jobs)
        await self.settled(completed(job))
        return await self.job(job.id)

    async def reap(self, *types: str, limit: int = 100) -> list[Reaped]:
        return await self.perform(Reap(types or ("resize",), (), limit))

    async def expire(self) -> None:
        """Advance the clock until every lease of the default length has expired."""
        self.clock.advance(LEASE + 1)

    async def job(self, job_id: str) -> Record:
        (record,) = await self.perform(GetJobs((job_id,)))
        assert record is not None, f"there is no job {job_id}"
        return record

    async def error(self, job_id: str) -> ErrorText:
        """The error in the record of the job."""
        error = read_error((await self.job(job_id)).error)
        assert error is not None, f"job {job_id} has no error"
        return error

    async def chain(self, chain_id: str) -> ChainRecord:
        (chain,) = await self.perform(GetChains((chain_id,)))
        assert chain is not None, f"there is no chain {chain_id}"
        return chain

    async def past(self, job_id: str) -> list[PastAttempt]:
        """The past attempts of the job, oldest first."""
        history = await self.perform(GetHistory(job_id))
        assert history is not None, f"there is no job {job_id}"
        return history[1]

    async def everything(self) -> list[Record]:
        """All jobs, newest first. Comparing it before and after an operation shows that nothing was written."""
        return await self.perform(ListJobs(Filter(), limit=10_000))
