"""A handler's call, async on the loop or plain in a thread: run it, and end its transaction."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol

from holdfast.core.job import Job
from holdfast.core.lifecycle import Settlement
from holdfast.engine.operations import Settle, Settled
from holdfast.engine.rollback import roll_back
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.registry.jobs import Jobs
from holdfast.worker.attempt import Attempt
from holdfast.worker.completion_rules import Work
from holdfast.worker.held_claims import Holding
from holdfast.worker.middleware import Middleware
from holdfast.worker.sync_attempt import SyncAttempt
from holdfast.worker.threads import Threads

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Call(Protocol):
    """What the runner needs of a call that an attempt belongs to, whatever runs it."""

    attempt: Any

    @property
    def work(self) -> Work[Any]:
        """What the handler does with its transactions."""
        ...

    def run(self) -> Awaitable[Any]:
        """Call the handler and await its value."""
        ...

    async def commit(self, settlement: Settlement) -> Settled:
        """Write the settlement in the attempt's open transaction and commit it, or roll back if it is refused."""
        ...

    async def roll_back(self) -> None:
        """Undo the attempt's open transaction, if there is one."""
        ...


class AsyncCall:
    """An async handler, on the event loop."""

    def __init__(
        self,
        holding: Holding,
        arguments: Arguments,
        *,
        store: Store,
        jobs: Jobs,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
    ) -> None:
        self.work: Work[Transaction] = Work(holding.record, holding.type)
        self.attempt = Attempt(
            Job(holding.record, jobs),
            store=store,
            jobs=jobs,
            work=self.work,
            signal=holding.signal,
            blockers=blockers,
            middlewares=middlewares,
        )
        self._type = holding.type
        self._arguments = arguments

    async def run(self) -> Any:
        try:
            value = await self._type.call(self.attempt, self._arguments)
            self.work.check_return(value)
        except BaseException as error:
            self.work.fail(error)
            raise
        return value

    async def commit(self, settlement: Settlement) -> Settled:
        tx, self.work.tx = self.work.tx, None
        assert tx is not None
        try:
            (answer,) = await tx.perform(Settle((settlement,)))
        except BaseException as error:
            await roll_back(tx, error)
            raise
        await (tx.commit() if answer.written else tx.rollback())
        return answer

    async def roll_back(self) -> None:
        tx, self.work.tx = self.work.tx, None
        if tx is not None:
            await tx.rollback()


class ThreadCall:
    """A plain handler, in a thread. Once its attempt is aborted nobody waits for it; what it then does is undone."""

    def __init__(
        self,
        holding: Holding,
        arguments: Arguments,
        *,
        store: Store,
        jobs: Jobs,
        blockers: tuple[Any, ...],
        middlewares: tuple[Middleware, ...],
        threads: Threads,
    ) -> None:
        self.work: Work[SyncTransaction] = Work(holding.record, holding.type)
        self.attempt = SyncAttempt(
            Job(holding.record, jobs),
            store=store,
            jobs=jobs,
            work=self.work,
            signal=holding.signal,
            blockers=blockers,
            middlewares=middlewares,
            loop=asyncio.get_running_loop(),
        )
        self._type = holding.type
        self._arguments = arguments
        self._threads = threads
        self._handover = threading.Lock()
        self._in_thread = False
        self._abandoned = False

    async def run(self) -> Any:
        # Context variables that middlewares set are seen in the thread.
        return await self._threads.run(partial(copy_context().run, self._call))

    async def commit(self, settlement: Settlement) -> Settled:
        return await self._threads.run(partial(self._commit, settlement))

    async def roll_back(self) -> None:
        # An aborted handler may still be using its transaction, and hang: what that holds in the store is let go now.
        # The handler undoes the rest itself, when it ends.
        with self._handover:
            self._abandoned = True
            if self._in_thread:
                if (tx := self.work.tx) is not None:
                    tx.abandon()
                return
        await self._threads.run(self._roll_back)

    def _call(self) -> Any:
        self._in_thread = True
        try:
            value = self._type.call(self.attempt, self._arguments)
            self.work.check_return(value)
        except BaseException as error:
            self.work.fail(error)
            raise
        finally:
            with self._handover:
                self._in_thread = False
                abandoned = self._abandoned or self.attempt.signal.aborted
            if abandoned:
                self._roll_back()
        return value

    def _commit(self, settlement: Settlement) -> Settled:
        tx, self.work.tx = self.work.tx, None
        assert tx is not None
        try:
            (answer,) = tx.perform(Settle((settlement,)))
        except BaseException:
            tx.rollback()
            raise
        if answer.written:
            tx.commit()
        else:
            tx.rollback()
        return answer

    def _roll_back(self) -> None:
        tx, self.work.tx = self.work.tx, None
        if tx is not None:
            tx.rollback()
