"""The attempt of a plain handler in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, contextmanager
from contextvars import Context, copy_context
from typing import Any, ClassVar, TypeVar, Unpack, cast, overload

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
from holdfast.worker.attempt_types import Blockers, State, Tx, TypedAttempt
from holdfast.worker.completion_rules import CompletionState, Mode, SharedDone, progress_of
from holdfast.worker.middleware import Middleware, block_manager
from holdfast.worker.sessions import SyncSessionTransaction
from holdfast.worker.threads import Ended

R = TypeVar("R")
T = TypeVar("T")

_UNSET: Any = object()


class SyncDone(SharedDone[Tx]):
    """The completion of an attempt, inside `with attempt.complete()`."""

    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Chain[T]:
        """Start a side chain: it exists if, and only if, this completion commits."""
        (started,) = self._tx.perform(self._start_operation(bound, options))
        return self._record_started(started)


class SyncAttempt(TypedAttempt[Tx, Blockers, State]):
    """One run of a job in a thread. A plain function cannot be cancelled: check `signal` in a long one."""

    __holdfast_attempt__: ClassVar[str] = "sync"

    def __init__(
        self,
        job: Job,
        *,
        store: Store,
        jobs: Jobs,
        completion: CompletionState[SyncTransaction],
        signal: Signal,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.job = job
        self.blockers = cast("Blockers", blockers)
        self.signal = signal
        self._store = store
        self._jobs = jobs
        self._completion = completion
        self._middlewares = middlewares
        self._loop = loop

    @property
    def claim(self) -> Claim:
        """The job's id and a token, new for each attempt: proof of the claim. Jobs claimed together share the token."""
        return self.job.record.claim

    def keep(self, time: Seconds) -> None:
        """Keep the finished chain for this long, instead of the time that its type sets."""
        self._completion.keep = duration(seconds(time))

    @overload
    def prepare(self, mode: Mode = "staged", *, session: None = None) -> AbstractContextManager[Tx]: ...

    @overload
    def prepare(self, mode: Mode = "staged", *, session: Callable[[], T]) -> AbstractContextManager[T]: ...

    def prepare(
        self, mode: Mode = "staged", *, session: Callable[[], Any] | None = None
    ) -> AbstractContextManager[Any]:
        """A short transaction before the handler's main part. In atomic mode it stays open and includes the completion.

        Raises ClaimLost if the claim is lost.
        """
        return self._prepare(mode, session)

    @overload
    def complete(self, *, session: None = None) -> AbstractContextManager[SyncDone[Tx]]: ...

    @overload
    def complete(self, *, session: Callable[[], T]) -> AbstractContextManager[SyncDone[T]]: ...

    def complete(self, *, session: Callable[[], Any] | None = None) -> AbstractContextManager[SyncDone[Any]]:
        """The transaction that ends the job: the application's writes and the completion commit together.

        It commits after the handler and every middleware have returned. An error before that rolls it back.
        """
        return self._complete(session)

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Store the progress of the attempt, from 0 to 1. Raises ClaimLost if the claim is lost."""
        reason = self._store.perform_sync(progress_of(self.claim, fraction, note))
        if reason is not None:
            raise ClaimLost(self.job.id, reason)

    @contextmanager
    def _prepare(self, mode: Mode, session: Callable[[], Any] | None) -> Generator[Any]:
        self._completion.begin_prepare(mode)
        tx = self._begin(session)
        try:
            with ExitStack() as stack:
                for middleware in self._middlewares:
                    stack.enter_context(self._on_loop(block_manager(middleware, "prepare", self, tx.native)))
                with self._completion.preparing():
                    yield tx.native
            if mode == "staged" and session is not None:
                # If the application caught the error of a statement, the session's commit would silently roll back.
                tx.perform(Guard(self.claim))
        except BaseException as error:
            self._completion.tx = None
            if mode == "atomic":
                self._completion.fail_inside(error)
            tx.rollback()
            raise
        if mode == "staged":
            self._completion.tx = None
            tx.commit()

    @contextmanager
    def _complete(self, session: Callable[[], Any] | None) -> Generator[SyncDone[Any]]:
        self._completion.begin_complete()
        tx = self._completion.tx or self._begin(session)
        done: SyncDone[Any] = SyncDone(self._completion, tx, self._jobs)
        with self._completion.undone_by_errors(), ExitStack() as stack:
            for middleware in self._middlewares:
                stack.enter_context(self._on_loop(block_manager(middleware, "complete", self, done)))
            with self._completion.undone_by_errors():
                yield done

    def _begin(self, session: Callable[[], Any] | None) -> SyncTransaction:
        tx = self._store.begin_sync() if session is None else SyncSessionTransaction(self._store, session)
        self._completion.tx = tx
        try:
            # Check the signal after `tx` is published. An abort before that could not abandon the transaction, and the
            # settlement could not be written while it is open.
            if (over := self.signal.reason) is not None:
                raise ClaimLost(self.job.id, over)
            tx.perform(Guard(self.claim))
        except BaseException as error:
            self._completion.tx = None
            tx.rollback()
            reason = self.signal.reason
            if reason is not None and isinstance(error, Exception) and not isinstance(error, ClaimLost):
                # The abort closed the transaction: report the abort and not the error that followed from it.
                raise ClaimLost(self.job.id, reason) from error
            raise
        return tx

    @contextmanager
    def _on_loop(self, manager: AbstractAsyncContextManager[Any]) -> Generator[Any]:
        """Enter and exit the async context manager of a middleware on the event loop while this thread waits.

        Both run in one context. The block sees the context variables that were set on entry, as in an async handler.
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
    """Await a middleware's coroutine. A task that raises KeyboardInterrupt or SystemExit would end the event loop."""
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
