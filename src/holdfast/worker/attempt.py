"""The attempt of an async handler: its job, its signal and its transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Unpack, overload

from holdfast.client.plugged_starts import Starts
from holdfast.core.job import Chain
from holdfast.engine import procedures
from holdfast.engine.operations import Start
from holdfast.engine.rollback import roll_back
from holdfast.engine.unawaited import UnawaitedCalls, check_statements
from holdfast.registry.jobs import Bound, Jobs
from holdfast.registry.options import StartKeywords, StartKeywordsWithoutAfter
from holdfast.worker.attempt_blocks import Begin, Block, Body, Commit, Perform, RollBack, SharedAttempt
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.attempt_types import Blockers, State, Tx
from holdfast.worker.completion_rules import CompletionState, Mode, SharedDone
from holdfast.worker.middleware import block_manager
from holdfast.worker.sessions import SessionTransaction
from holdfast.worker.steps.async_steps import AsyncSteps
from holdfast.worker.threads import Threads

if TYPE_CHECKING:
    from holdfast.worker.attempt_types import Untyped

T = TypeVar("T")
B = TypeVar("B")


class Done(SharedDone[Tx]):
    """The completion of an attempt, inside `async with attempt.complete()`."""

    def __init__(self, completion: CompletionState[Any], tx: Any, jobs: Jobs) -> None:
        super().__init__(completion, tx, jobs)
        self._unawaited = UnawaitedCalls()

    @overload
    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Coroutine[Any, Any, Chain[T]]: ...

    @overload
    def start(
        self, bound: Bound[T, B], *, after: B, **options: Unpack[StartKeywordsWithoutAfter]
    ) -> Coroutine[Any, Any, Chain[T]]: ...

    def start(self, bound: Bound[T, Any], **options: Any) -> Coroutine[Any, Any, Chain[T]]:
        """Start a side chain: it exists if, and only if, this completion commits."""
        return self._unawaited.track("done.start(...)", self._perform(self._starts(bound, options)))

    def check_awaited(self) -> None:
        """Raises RuntimeError if a start or a statement was not awaited: its chain or its rows would be missing."""
        self._unawaited.check()
        check_statements(self._tx)

    async def _perform(self, starts: Starts) -> Chain[Any]:
        with starts:
            (started,) = await self._tx.perform(Start(starts.jobs))
            starts.answered([started])
        return self._record_started(started)


class Attempt(AsyncSteps, SharedAttempt[Tx, Blockers, State]):
    """One run of a job by a worker, under a lease that is renewed in the background.

    `blockers` are the outputs of the chains that the job waited for, in order. `signal` fires when the attempt is
    aborted. The handler is then cancelled, and its transactions are rolled back.
    """

    __holdfast_attempt__: ClassVar[str] = "async"

    def __init__(self, parts: AttemptParts, *, threads: Threads) -> None:
        super().__init__(parts)
        self._steps = parts.steps
        self._threads = threads

    @overload
    def prepare(
        self: Attempt[Untyped, Any, Any], mode: Mode = "staged", *, session: None = None
    ) -> AbstractAsyncContextManager[Any]: ...

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
        return self._run(self._prepare_block(mode, session))

    @overload
    def complete(self, *, session: None = None) -> AbstractAsyncContextManager[Done[Tx]]: ...

    @overload
    def complete(self, *, session: Callable[[], T]) -> AbstractAsyncContextManager[Done[T]]: ...

    def complete(self, *, session: Callable[[], Any] | None = None) -> AbstractAsyncContextManager[Done[Any]]:
        """The transaction that ends the job: the application's writes and the completion commit together.

        It commits after the handler and every middleware have returned. An error before that rolls it back.
        """
        return self._run(self._complete_block(session))

    async def progress(self, fraction: float, note: str | None = None) -> None:
        """Store the progress of the attempt, from 0 to 1. Raises ClaimLost if the claim is lost."""
        await procedures.run(self._store.perform, self._progress_procedure(fraction, note))

    def _track(self, name: str, call: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        if (calls := self._completion.unawaited) is None:
            calls = self._completion.unawaited = UnawaitedCalls()
        return calls.track(name, call)

    @asynccontextmanager
    async def _run(self, block: Block) -> AsyncGenerator[Any]:
        """Run a block, awaiting each request."""
        with closing(block):
            request = next(block)
            while True:
                result: Any = None
                try:
                    if not isinstance(request, Body):
                        result = await self._await(request)
                    elif self._middlewares:
                        async with AsyncExitStack() as stack:
                            for middleware in self._middlewares:
                                manager = block_manager(middleware, request.block, self, request.value)
                                await stack.enter_async_context(manager)
                            with request.innermost:
                                yield request.value
                    else:
                        with request.innermost:
                            yield request.value
                except BaseException as error:
                    request = block.throw(error)
                else:
                    try:
                        request = block.send(result)
                    except StopIteration:
                        return

    async def _await(self, request: Begin | Perform | Commit | RollBack) -> Any:
        match request:
            case Begin(session):
                return await self._store.begin_lazily() if session is None else SessionTransaction(self._store, session)
            case Perform(tx, operation):
                return await tx.perform(operation)
            case Commit(tx):
                await tx.commit()
            case RollBack(tx, error):
                await roll_back(tx, error)
        return None

    def _done(self, tx: Any) -> Done[Any]:
        return Done(self._completion, tx, self._jobs)

    def _check_signal(self) -> None:
        if self.signal.reason not in (None, "shutdown"):
            # The handler was cancelled and continues. A new transaction would only block other writers.
            raise asyncio.CancelledError
