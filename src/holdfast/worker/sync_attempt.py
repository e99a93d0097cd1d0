"""An attempt, as a plain function in a thread sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, contextmanager
from contextvars import Context, copy_context
from typing import Any, ClassVar, TypeVar, Unpack

from holdfast.core.clock import duration
from holdfast.core.job import Chain, Job
from holdfast.core.record import Claim
from holdfast.core.retry import Seconds, seconds
from holdfast.engine.operations import Guard
from holdfast.engine.store import Store, SyncTransaction
from holdfast.errors import ClaimLost
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import StartKeywords
from holdfast.worker.abort_signal import Signal
from holdfast.worker.completion_rules import Ending, Mode, Work, progress_of
from holdfast.worker.middleware import Middleware, around
from holdfast.worker.sessions import SyncSessionTransaction
from holdfast.worker.threads import Ended

R = TypeVar("R")
T = TypeVar("T")

_UNSET: Any = object()


class SyncDone(Ending):
    """The end of an attempt, being written, in blocking code."""

    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Chain[T]:
        """Start a side chain: it exists if, and only if, this completion commits."""
        (started,) = self._tx.perform(self._start_of(bound, options))
        return self._note(started)


class SyncAttempt:
    """One run of a job in a thread. A plain function cannot be cancelled: look at `signal` in long work."""

    __holdfast_attempt__: ClassVar[str] = "sync"

    def __init__(
        self,
        job: Job,
        *,
        store: Store,
        jobs: Jobs,
        work: Work[SyncTransaction],
        signal: Signal,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.job = job
        self.blockers = blockers
        self.signal = signal
        self._store = store
        self._jobs = jobs
        self._work = work
        self._middlewares = middlewares
        self._loop = loop

    @property
    def claim(self) -> Claim:
        """Proof of holding the job: its id and a token, new for each attempt. Jobs claimed together share the token."""
        return self.job.record.claim

    def keep(self, time: Seconds) -> None:
        """Keep the chain for this long once it is finished, instead of what its type says."""
        self._work.keep = duration(seconds(time))

    def prepare(
        self, mode: Mode = "staged", *, session: Callable[[], Any] | None = None
    ) -> AbstractContextManager[Any]:
        """A short transaction before the work. In atomic mode it stays open and carries the completion too."""
        return self._prepare(mode, session)

    def complete(self, *, session: Callable[[], Any] | None = None) -> AbstractContextManager[SyncDone]:
        """The transaction that ends the job: the application's writes and the completion commit together."""
        return self._complete(session)

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Note how far the work has come, from 0 to 1. Raises ClaimLost if the job is no longer held."""
        reason = self._store.perform_sync(progress_of(self.claim, fraction, note))
        if reason is not None:
            raise ClaimLost(self.job.id, reason)

    @contextmanager
    def _prepare(self, mode: Mode, session: Callable[[], Any] | None) -> Generator[Any]:
        self._work.begin_prepare(mode)
        tx = self._begin(session)
        try:
            with ExitStack() as stack:
                for middleware in self._middlewares:
                    stack.enter_context(self._on_loop(around(middleware, "prepare", self, tx.native)))
                with self._work.preparing():
                    yield tx.native
            if mode == "staged" and session is not None:
                # After a statement's error that was swallowed, a session's commit is a rollback, without a word.
                tx.perform(Guard(self.claim))
        except BaseException as error:
            self._work.tx = None
            if mode == "atomic":
                self._work.fail_inside(error)
            tx.rollback()
            raise
        if mode == "staged":
            self._work.tx = None
            tx.commit()

    @contextmanager
    def _complete(self, session: Callable[[], Any] | None) -> Generator[SyncDone]:
        self._work.begin_complete()
        tx = self._work.tx or self._begin(session)
        done = SyncDone(self._work, tx, self._jobs)
        with self._work.undone_by_errors(), ExitStack() as stack:
            for middleware in self._middlewares:
                stack.enter_context(self._on_loop(around(middleware, "complete", self, done)))
            with self._work.undone_by_errors():
                yield done

    def _begin(self, session: Callable[[], Any] | None) -> SyncTransaction:
        tx = self._store.begin_sync() if session is None else SyncSessionTransaction(self._store, session)
        self._work.tx = tx
        try:
            # Looked at after the transaction is there to be seen: whoever aborted before that did not take it away, and
            # the attempt's outcome could not be written while it is open.
            if (over := self.signal.reason) is not None:
                raise ClaimLost(self.job.id, over)
            tx.perform(Guard(self.claim))
        except BaseException as error:
            self._work.tx = None
            tx.rollback()
            reason = self.signal.reason
            if reason is not None and isinstance(error, Exception) and not isinstance(error, ClaimLost):
                # Cut off since the attempt is over: that is the news, not what became of the transaction.
                raise ClaimLost(self.job.id, reason) from error
            raise
        return tx

    @contextmanager
    def _on_loop(self, manager: AbstractAsyncContextManager[Any]) -> Generator[Any]:
        """Middlewares are async: enter and leave theirs on the event loop while this thread waits.

        Both happen in one context, and the variables set on the way in are seen by the block, as in an async handler.
        """
        context = copy_context()
        value = self._await(_enter(manager), context)
        adopted = [(each, each.set(now)) for each, now in context.items() if each.get(_UNSET) is not now]
        try:
            yield value
        except BaseException as error:
            if not self._await(_leave(manager, error), context):
                raise
        else:
            self._await(_leave(manager, None), context)
        finally:
            for each, before in reversed(adopted):
                each.reset(before)

    def _await(self, coroutine: Coroutine[Any, Any, R], context: Context) -> R:
        return asyncio.run_coroutine_threadsafe(_within(coroutine, context), self._loop).result().value()


async def _within(coroutine: Coroutine[Any, Any, R], context: Context) -> Ended[R]:
    return await asyncio.get_running_loop().create_task(_ended(coroutine), context=context)


async def _ended(coroutine: Coroutine[Any, Any, R]) -> Ended[R]:
    """Await a middleware's coroutine. A task that raised KeyboardInterrupt or SystemExit would end the event loop."""
    try:
        return Ended(await coroutine, None)
    except BaseException as error:
        return Ended(None, error)


async def _enter(manager: AbstractAsyncContextManager[Any]) -> Any:
    return await manager.__aenter__()


async def _leave(manager: AbstractAsyncContextManager[Any], error: BaseException | None) -> bool | None:
    if error is None:
        return await manager.__aexit__(None, None, None)
    return await manager.__aexit__(type(error), error, error.__traceback__)
