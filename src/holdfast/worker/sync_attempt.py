"""The attempt of a plain handler in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, closing, contextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Unpack, cast, overload

from holdfast.core.job import Chain
from holdfast.engine import procedures
from holdfast.engine.operations import Start
from holdfast.engine.store import SyncTransaction
from holdfast.errors import ClaimLost
from holdfast.registry.extensions import methods_of
from holdfast.registry.jobs import Bound
from holdfast.registry.options import StartKeywords, StartKeywordsWithoutAfter
from holdfast.worker.attempt_blocks import Begin, Block, Body, Commit, Perform, RollBack, SharedAttempt
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.attempt_types import Blockers, State, Tx
from holdfast.worker.completion_rules import Mode, SharedDone
from holdfast.worker.middleware import block_manager
from holdfast.worker.sessions import SyncSessionTransaction
from holdfast.worker.steps.sync_tx_step import SyncTxStep
from holdfast.worker.steps.thread_steps import ThreadSteps
from holdfast.worker.threads import Ended, wait_on_loop

R = TypeVar("R")
if TYPE_CHECKING:
    from holdfast.worker.attempt_types import Untyped

T = TypeVar("T")
B = TypeVar("B")

_UNSET: Any = object()


class SyncDone(SharedDone[Tx]):
    """The completion of an attempt, inside `with attempt.complete()`."""

    @overload
    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Chain[T]: ...

    @overload
    def start(self, bound: Bound[T, B], *, after: B, **options: Unpack[StartKeywordsWithoutAfter]) -> Chain[T]: ...

    def start(self, bound: Bound[T, Any], **options: Any) -> Chain[T]:
        """Start a side chain: it exists if, and only if, this completion commits."""
        with self._starts(bound, options) as starts:
            (started,) = self._tx.perform(Start(starts.jobs))
            starts.answered([started])
        return self._record_started(started)


class SyncAttempt(SyncTxStep, SharedAttempt[Tx, Blockers, State]):
    """One run of a job in a thread. A plain function cannot be cancelled, so a long one should check `signal`."""

    __holdfast_attempt__: ClassVar[str] = "sync"

    def __init__(self, parts: AttemptParts, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(parts)
        self._loop = loop
        self._steps = ThreadSteps(parts.steps, parts.signal, parts.job.id, loop)

    @overload
    def prepare(
        self: SyncAttempt[Untyped, Any, Any], mode: Mode = "staged", *, session: None = None
    ) -> AbstractContextManager[Any]: ...

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
        return self._run(self._prepare_block(mode, session))

    @overload
    def complete(self, *, session: None = None) -> AbstractContextManager[SyncDone[Tx]]: ...

    @overload
    def complete(self, *, session: Callable[[], T]) -> AbstractContextManager[SyncDone[T]]: ...

    def complete(self, *, session: Callable[[], Any] | None = None) -> AbstractContextManager[SyncDone[Any]]:
        """The transaction that ends the job: the application's writes and the completion commit together.

        It commits after the handler and every middleware have returned. An error before that rolls it back.
        """
        return self._run(self._complete_block(session))

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Store the progress of the attempt, from 0 to 1. Raises ClaimLost if the claim is lost."""
        procedures.run_sync(self._store.perform_sync, self._progress_procedure(fraction, note))

    @contextmanager
    def _run(self, block: Block) -> Generator[Any]:
        """Run a block, blocking on each request."""
        with closing(block):
            request = next(block)
            while True:
                result: Any = None
                try:
                    if isinstance(request, Body):
                        with ExitStack() as stack:
                            for middleware in self._middlewares:
                                manager = block_manager(middleware, request.block, self, request.value)
                                stack.enter_context(self._on_loop(manager))
                            with request.innermost:
                                yield request.value
                    else:
                        result = self._perform(request)
                except BaseException as error:
                    request = block.throw(error)
                else:
                    try:
                        request = block.send(result)
                    except StopIteration:
                        return

    def _perform(self, request: Begin | Perform | Commit | RollBack) -> Any:
        match request:
            case Begin(session):
                return self._begin_sync() if session is None else SyncSessionTransaction(self._store, session)
            case Perform(tx, operation):
                return tx.perform(operation)
            case Commit(tx):
                tx.commit()
            case RollBack(tx):
                tx.rollback()
        return None

    def _begin_sync(self) -> SyncTransaction:
        for begin in methods_of(self._jobs.scope(self.job.type), "begin"):
            if (tx := begin(self, self._store)) is not None:
                return cast("SyncTransaction", tx)
        return self._store.begin_lazily_sync()

    def _done(self, tx: Any) -> SyncDone[Any]:
        return SyncDone(self._completion, tx, self._jobs)

    def _check_signal(self) -> None:
        if (reason := self.signal.reason) is not None:
            raise ClaimLost(self.job.id, reason)

    def _abort_behind(self, error: BaseException) -> BaseException | None:
        reason = self.signal.reason
        if reason is None or isinstance(error, ClaimLost) or not isinstance(error, Exception):
            return None
        # The abort closed the transaction: report the abort and not the error that followed from it.
        return ClaimLost(self.job.id, reason)

    @contextmanager
    def _on_loop(self, manager: AbstractAsyncContextManager[Any]) -> Generator[Any]:
        """Enter and exit the async context manager of a middleware on the event loop while this thread waits.

        Entry and exit run in one context. The block sees the context variables that were set on entry, as in an async
        handler.
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
        ended: Ended[R] = wait_on_loop.get()(_within(coroutine, context), self._loop)
        return ended.value()


async def _within(coroutine: Coroutine[Any, Any, R], context: Context) -> Ended[R]:
    return await asyncio.get_running_loop().create_task(_ended(coroutine), context=context)


async def _ended(coroutine: Coroutine[Any, Any, R]) -> Ended[R]:
    """Return a coroutine's result or error. A task that raises KeyboardInterrupt or SystemExit ends the event loop."""
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
