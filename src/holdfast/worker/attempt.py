"""An attempt, as an async handler sees it: its job, its signal, its transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, ClassVar, TypeVar, Unpack

from holdfast.core.clock import duration
from holdfast.core.job import Chain, Job
from holdfast.core.record import Claim
from holdfast.core.retry import Seconds, seconds
from holdfast.engine.operations import Guard, Start
from holdfast.engine.rollback import roll_back
from holdfast.engine.store import Store, Transaction
from holdfast.engine.unawaited import Awaiting
from holdfast.errors import ClaimLost
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import StartKeywords
from holdfast.worker.abort_signal import Signal
from holdfast.worker.completion_rules import Ending, Mode, Work, progress_of
from holdfast.worker.middleware import Middleware, around
from holdfast.worker.sessions import SessionTransaction

T = TypeVar("T")


class Done(Ending):
    """The end of an attempt, being written."""

    def __init__(self, work: Work[Any], tx: Any, jobs: Jobs) -> None:
        super().__init__(work, tx, jobs)
        self._awaiting = Awaiting()

    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Coroutine[Any, Any, Chain[T]]:
        """Start a side chain: it exists if, and only if, this completion commits."""
        return self._awaiting.note("done.start(...)", self._perform(self._start_of(bound, options)))

    def check_awaited(self) -> None:
        """RuntimeError for a start that was not awaited: its side chain would be missing."""
        self._awaiting.check()

    async def _perform(self, start: Start) -> Chain[Any]:
        (started,) = await self._tx.perform(start)
        return self._note(started)


class Attempt:
    """One run of a job by a worker, under a lease that is renewed in the background.

    `blockers` are the outputs of the chains that the job waited for, in order. `signal` fires when the attempt is
    over before it ended; the handler is then cancelled, and nothing it writes through here is kept.
    """

    __holdfast_attempt__: ClassVar[str] = "async"

    def __init__(
        self,
        job: Job,
        *,
        store: Store,
        jobs: Jobs,
        work: Work[Transaction],
        signal: Signal,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
    ) -> None:
        self.job = job
        self.blockers = blockers
        self.signal = signal
        self._store = store
        self._jobs = jobs
        self._work = work
        self._middlewares = middlewares

    @property
    def claim(self) -> Claim:
        """Proof of holding the job: its id and a token, new for each attempt. Jobs claimed together share the token."""
        return self.job.record.claim

    def keep(self, time: Seconds) -> None:
        """Keep the chain for this long once it is finished, instead of what its type says."""
        self._work.keep = duration(seconds(time))

    def prepare(
        self, mode: Mode = "staged", *, session: Callable[[], Any] | None = None
    ) -> AbstractAsyncContextManager[Any]:
        """A short transaction before the work. In atomic mode it stays open and carries the completion too.

        Raises ClaimLost if the job is no longer held.
        """
        return self._prepare(mode, session)

    def complete(self, *, session: Callable[[], Any] | None = None) -> AbstractAsyncContextManager[Done]:
        """The transaction that ends the job: the application's writes and the completion commit together.

        It commits when the handler and every middleware have returned; any error before that undoes it all.
        """
        return self._complete(session)

    async def progress(self, fraction: float, note: str | None = None) -> None:
        """Note how far the work has come, from 0 to 1. Raises ClaimLost if the job is no longer held."""
        reason = await self._store.perform(progress_of(self.claim, fraction, note))
        if reason is not None:
            raise ClaimLost(self.job.id, reason)

    @asynccontextmanager
    async def _prepare(self, mode: Mode, session: Callable[[], Any] | None) -> AsyncGenerator[Any]:
        self._work.begin_prepare(mode)
        tx = await self._begin(session)
        try:
            async with AsyncExitStack() as stack:
                for middleware in self._middlewares:
                    await stack.enter_async_context(around(middleware, "prepare", self, tx.native))
                with self._work.preparing():
                    yield tx.native
            if mode == "staged" and session is not None:
                # After a statement's error that was swallowed, a session's commit is a rollback, without a word.
                await tx.perform(Guard(self.claim))
        except BaseException as error:
            self._work.tx = None
            if mode == "atomic":
                self._work.fail_inside(error)
            await roll_back(tx, error)
            raise
        if mode == "staged":
            self._work.tx = None
            await tx.commit()

    @asynccontextmanager
    async def _complete(self, session: Callable[[], Any] | None) -> AsyncGenerator[Done]:
        self._work.begin_complete()
        tx = self._work.tx or await self._begin(session)
        done = Done(self._work, tx, self._jobs)
        with self._work.undone_by_errors():
            async with AsyncExitStack() as stack:
                for middleware in self._middlewares:
                    await stack.enter_async_context(around(middleware, "complete", self, done))
                with self._work.undone_by_errors():
                    yield done
                    done.check_awaited()

    async def _begin(self, session: Callable[[], Any] | None) -> Transaction:
        tx = await self._store.begin() if session is None else SessionTransaction(self._store, session)
        self._work.tx = tx
        try:
            if self.signal.reason not in (None, "shutdown"):
                # It was cancelled once and went on. With a transaction of its own it would hold up whoever writes.
                raise asyncio.CancelledError
            await tx.perform(Guard(self.claim))
        except BaseException as error:
            self._work.tx = None
            await roll_back(tx, error)
            raise
        return tx
