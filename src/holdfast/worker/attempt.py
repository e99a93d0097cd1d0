"""The attempt of an async handler: its job, its signal and its transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, ClassVar, TypeVar, Unpack, cast, overload

from holdfast.core.clock import duration
from holdfast.core.job import Chain, Job
from holdfast.core.record import Claim
from holdfast.core.retry import Seconds, seconds
from holdfast.engine.operations import Guard, Start
from holdfast.engine.rollback import roll_back
from holdfast.engine.store import Store, Transaction
from holdfast.engine.unawaited import UnawaitedCalls
from holdfast.errors import ClaimLost
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import StartKeywords
from holdfast.worker.abort_signal import Signal
from holdfast.worker.attempt_types import Blockers, State, Tx, TypedAttempt
from holdfast.worker.completion_rules import CompletionState, Mode, SharedDone, progress_of
from holdfast.worker.middleware import Middleware, block_manager
from holdfast.worker.sessions import SessionTransaction

T = TypeVar("T")


class Done(SharedDone[Tx]):
    """The completion of an attempt, inside `async with attempt.complete()`."""

    def __init__(self, completion: CompletionState[Any], tx: Any, jobs: Jobs) -> None:
        super().__init__(completion, tx, jobs)
        self._unawaited = UnawaitedCalls()

    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Coroutine[Any, Any, Chain[T]]:
        """Start a side chain: it exists if, and only if, this completion commits."""
        return self._unawaited.track("done.start(...)", self._perform(self._start_operation(bound, options)))

    def check_awaited(self) -> None:
        """RuntimeError if a start was not awaited: its side chain would be missing."""
        self._unawaited.check()

    async def _perform(self, start: Start) -> Chain[Any]:
        (started,) = await self._tx.perform(start)
        return self._record_started(started)


class Attempt(TypedAttempt[Tx, Blockers, State]):
    """One run of a job by a worker, under a lease that is renewed in the background.

    `blockers` are the outputs of the chains that the job waited for, in order. `signal` fires when the attempt is
    aborted. The handler is then cancelled, and its transactions are rolled back.
    """

    __holdfast_attempt__: ClassVar[str] = "async"

    def __init__(
        self,
        job: Job,
        *,
        store: Store,
        jobs: Jobs,
        completion: CompletionState[Transaction],
        signal: Signal,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
    ) -> None:
        self.job = job
        self.blockers = cast("Blockers", blockers)
        self.signal = signal
        self._store = store
        self._jobs = jobs
        self._completion = completion
        self._middlewares = middlewares

    @property
    def claim(self) -> Claim:
        """The job's id and a token, new for each attempt: proof of the claim. Jobs claimed together share the token."""
        return self.job.record.claim

    def keep(self, time: Seconds) -> None:
        """Keep the finished chain for this long, instead of the time that its type sets."""
        self._completion.keep = duration(seconds(time))

    @overload
    def prepare(self, mode: Mode = "staged", *, session: None = None) -> AbstractAsyncContextManager[Tx]: ...

    @overload
    def prepare(self, mode: Mode = "staged", *, session: Callable[[], T]) -> AbstractAsyncContextManager[T]: ...

    def prepare(
        self, mode: Mode = "staged", *, session: Callable[[], Any] | None = None
    ) -> AbstractAsyncContextManager[Any]:
        """A short transaction before the handler's main part. In atomic mode it stays open and includes the completion.

        Raises ClaimLost if the claim is lost.
        """
        return self._prepare(mode, session)

    @overload
    def complete(self, *, session: None = None) -> AbstractAsyncContextManager[Done[Tx]]: ...

    @overload
    def complete(self, *, session: Callable[[], T]) -> AbstractAsyncContextManager[Done[T]]: ...

    def complete(self, *, session: Callable[[], Any] | None = None) -> AbstractAsyncContextManager[Done[Any]]:
        """The transaction that ends the job: the application's writes and the completion commit together.

        It commits after the handler and every middleware have returned. An error before that rolls it back.
        """
        return self._complete(session)

    async def progress(self, fraction: float, note: str | None = None) -> None:
        """Store the progress of the attempt, from 0 to 1. Raises ClaimLost if the claim is lost."""
        reason = await self._store.perform(progress_of(self.claim, fraction, note))
        if reason is not None:
            raise ClaimLost(self.job.id, reason)

    @asynccontextmanager
    async def _prepare(self, mode: Mode, session: Callable[[], Any] | None) -> AsyncGenerator[Any]:
        self._completion.begin_prepare(mode)
        tx = await self._begin(session)
        try:
            async with AsyncExitStack() as stack:
                for middleware in self._middlewares:
                    await stack.enter_async_context(block_manager(middleware, "prepare", self, tx.native))
                with self._completion.preparing():
                    yield tx.native
            if mode == "staged" and session is not None:
                # If the application caught the error of a statement, the session's commit would silently roll back.
                await tx.perform(Guard(self.claim))
        except BaseException as error:
            self._completion.tx = None
            if mode == "atomic":
                self._completion.fail_inside(error)
            await roll_back(tx, error)
            raise
        if mode == "staged":
            self._completion.tx = None
            await tx.commit()

    @asynccontextmanager
    async def _complete(self, session: Callable[[], Any] | None) -> AsyncGenerator[Done[Any]]:
        self._completion.begin_complete()
        tx = self._completion.tx or await self._begin(session)
        done: Done[Any] = Done(self._completion, tx, self._jobs)
        with self._completion.undone_by_errors():
            async with AsyncExitStack() as stack:
                for middleware in self._middlewares:
                    await stack.enter_async_context(block_manager(middleware, "complete", self, done))
                with self._completion.undone_by_errors():
                    yield done
                    done.check_awaited()

    async def _begin(self, session: Callable[[], Any] | None) -> Transaction:
        tx = await self._store.begin() if session is None else SessionTransaction(self._store, session)
        self._completion.tx = tx
        try:
            if self.signal.reason not in (None, "shutdown"):
                # The handler was cancelled and continues. A new transaction would only block other writers.
                raise asyncio.CancelledError
            await tx.perform(Guard(self.claim))
        except BaseException as error:
            self._completion.tx = None
            await roll_back(tx, error)
            raise
        return tx
