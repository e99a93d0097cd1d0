"""The call of a handler, async on the event loop or plain in a thread, and the end of its transaction."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from contextlib import ExitStack
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol, cast

from holdfast.core.lifecycle import Settlement
from holdfast.engine import procedures
from holdfast.engine.operations import AttemptLog, SaveLogs, Settle, Settled
from holdfast.engine.procedures import Procedure
from holdfast.engine.rollback import roll_back
from holdfast.engine.store import SyncTransaction, Transaction
from holdfast.registry.extensions import methods_of
from holdfast.registry.jobs import AnyJobType
from holdfast.worker.attempt import Attempt
from holdfast.worker.attempt_parts import AttemptParts
from holdfast.worker.completion_rules import CompletionState
from holdfast.worker.steps.attempt_steps import AttemptSteps
from holdfast.worker.sync_attempt import SyncAttempt
from holdfast.worker.threads import Threads

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Call(Protocol):
    """The call of a handler, as the runner uses it. The interface is the same for every executor."""

    attempt: Any

    @property
    def completion(self) -> CompletionState[Any]:
        """What the handler has done with its transactions."""
        ...

    @property
    def steps(self) -> AttemptSteps:
        """The durable steps of the attempt."""
        ...

    def run(self) -> Awaitable[Any]:
        """Call the handler and await its value."""
        ...

    async def commit(self, settlement: Settlement) -> Settled:
        """Write the settlement in the attempt's open transaction and commit; roll back if the store refuses it."""
        ...

    async def roll_back(self) -> None:
        """Roll back the attempt's open transaction, if there is one."""
        ...


def settling(settlement: Settlement, log: bytes | None) -> Procedure[Settled]:
    """Write the settlement of an attempt, and its log if it has one."""
    if log is not None:
        yield SaveLogs((AttemptLog(settlement.claim, log),))
    (answer,) = yield Settle((settlement,), commits=True)
    return cast("Settled", answer)


class AsyncCall:
    """An async handler, on the event loop."""

    def __init__(self, parts: AttemptParts, job_type: AnyJobType, arguments: Arguments, threads: Threads) -> None:
        self.completion: CompletionState[Transaction] = parts.completion
        self.steps = parts.steps
        self.attempt = Attempt(parts, threads=threads)
        self._type = job_type
        self._arguments = arguments

    async def run(self) -> Any:
        try:
            value = await self._type.call(self.attempt, self._arguments)
            self.completion.check_return(value)
        except BaseException as error:
            self.completion.fail(error)
            raise
        return value

    async def commit(self, settlement: Settlement) -> Settled:
        tx, self.completion.tx = self.completion.tx, None
        assert tx is not None
        try:
            answer = await procedures.run(tx.perform, settling(settlement, self.completion.log))
        except BaseException as error:
            await roll_back(tx, error)
            raise
        await (tx.commit() if answer.written else tx.rollback())
        return answer

    async def roll_back(self) -> None:
        tx, self.completion.tx = self.completion.tx, None
        if tx is not None:
            await tx.rollback()


class ThreadCall:
    """A plain handler, in a thread. After an abort the worker does not wait for it, and rolls back its writes."""

    def __init__(self, parts: AttemptParts, job_type: AnyJobType, arguments: Arguments, threads: Threads) -> None:
        self.completion: CompletionState[SyncTransaction] = parts.completion
        self.steps = parts.steps
        self.attempt = SyncAttempt(parts, loop=asyncio.get_running_loop())
        self._type = job_type
        self._arguments = arguments
        self._threads = threads
        self._thread_contexts = methods_of(parts.jobs.scope(job_type.name), "in_thread")
        self._handover = threading.Lock()
        self._in_thread = False
        self._abandoned = False

    async def run(self) -> Any:
        # The handler sees the context variables that middlewares set.
        return await self._threads.run(partial(copy_context().run, self._call))

    async def commit(self, settlement: Settlement) -> Settled:
        return await self._threads.run(partial(self._commit, settlement))

    async def roll_back(self) -> None:
        # An aborted handler may hang while it uses its transaction: `abandon` releases the locks in the store now.
        # The thread rolls back when the handler ends.
        with self._handover:
            self._abandoned = True
            if self._in_thread:
                for tx in (self.completion.tx, *self.completion.step_txs.values()):
                    if tx is not None:
                        tx.abandon()
                return
        await self._threads.run(self._roll_back)

    def _call(self) -> Any:
        self._in_thread = True
        try:
            value = self._call_handler()
            self.completion.check_return(value)
        except BaseException as error:
            self.completion.fail(error)
            raise
        finally:
            with self._handover:
                self._in_thread = False
                abandoned = self._abandoned or self.attempt.signal.aborted
            if abandoned:
                self._roll_back()
        return value

    def _call_handler(self) -> Any:
        if not self._thread_contexts:
            return self._type.call(self.attempt, self._arguments)
        with ExitStack() as stack:
            for make in self._thread_contexts:
                stack.enter_context(make(self.attempt))
            return self._type.call(self.attempt, self._arguments)

    def _commit(self, settlement: Settlement) -> Settled:
        tx, self.completion.tx = self.completion.tx, None
        assert tx is not None
        try:
            answer = procedures.run_sync(tx.perform, settling(settlement, self.completion.log))
        except BaseException:
            tx.rollback()
            raise
        if answer.written:
            tx.commit()
        else:
            tx.rollback()
        return answer

    def _roll_back(self) -> None:
        tx, self.completion.tx = self.completion.tx, None
        if tx is not None:
            tx.rollback()
