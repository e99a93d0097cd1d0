"""Connections of the store: one statement at a time, with a deadline. After an error a connection is not reused."""

from __future__ import annotations

import math
import os
import time
import warnings
from typing import Final, TypeVar

import psycopg
from psycopg import pq

from holdfast.engine import generators
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.deadlines import deadlines
from holdfast.stores.postgres.connection.libpq import Conversation, Session, SimpleQuery, drive, drive_async
from holdfast.stores.postgres.connection.pool_queue import Entry
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.connection.socket_watch import SocketWatch, is_readable
from holdfast.stores.postgres.errors import ABORTED, DeadlinePassed
from holdfast.stores.postgres.plan import (
    Begin,
    Commit,
    Instruction,
    NotifyingStatement,
    Pipeline,
    Plan,
    ReleaseSavepoint,
    Result,
    RollbackToSavepoint,
    Savepoint,
)
from holdfast.stores.sql.lent_transaction import ended
from holdfast.stores.sql.plan import Many, Statement, sets_of

R = TypeVar("R")

_BEGIN: Final = Statement(Begin.sql)
_COMMIT: Final = Statement(Commit.sql)
_ROLLBACK: Final = Statement("rollback")

_BEGIN_LENT: Final = SimpleQuery(f"{Begin.sql}; select txid_current()".encode())
"""Begins a transaction and reads its id. Its operations lock rows, so the transaction would get an id in any case."""
_COMMIT_LENT: Final = "select 1 / coalesce(txid_current_if_assigned() = {id}, false)::int; commit"
"""Commits the transaction with this id. In any other transaction it fails with a division by zero."""


class _State:
    """The common part of blocking and async connections."""

    def __init__(
        self,
        native: psycopg.Connection | psycopg.AsyncConnection,
        address: PostgresAddress,
        render: Renderer,
    ) -> None:
        self.session = Session(native)
        self._native = native
        self.in_transaction = False
        self.transaction_id: int | None = None
        """The id of a transaction that the application may use."""
        self.idle_since = 0.0
        """When the connection was last returned to its pool."""
        self._deadline = address.deadline
        self._late = f"no answer within {address.deadline:g} s"
        self._render = render
        self._until = math.inf

    def call_functions(self) -> None:
        """Start jobs by the functions of the schema: this role has no rights on the tables."""
        self._render = self._render.with_calls()

    def start_clock(self) -> None:
        """Start the deadline of a plan. It covers all its attempts to lock the jobs that it needs."""
        self._until = time.monotonic() + self._deadline

    def check_intact(self) -> None:
        """Raises RuntimeError if a statement of the transaction failed: the server would roll back at COMMIT."""
        if self._native.pgconn.transaction_status == pq.TransactionStatus.INERROR:
            raise RuntimeError(ABORTED)

    def committing(self, *, checks: bool) -> Statement | SimpleQuery:
        """The statement that commits. With `checks`, it commits only the transaction that was begun here."""
        return SimpleQuery(_COMMIT_LENT.format(id=self.transaction_id).encode()) if checks else _COMMIT

    def explain(self, error: psycopg.errors.DivisionByZero) -> Exception:
        """The cause of a failed commit: the check of the transaction id, or a deferred constraint."""
        failed_check = self._native.pgconn.transaction_status == pq.TransactionStatus.INERROR
        return ended() if failed_check else error

    def check_time(self) -> None:
        """Raises DeadlinePassed if a plan has tried for its whole deadline to lock jobs that others have locked."""
        if time.monotonic() > self._until:
            raise DeadlinePassed(self._late)

    def _conversation(
        self, instruction: Statement | Many | NotifyingStatement | Pipeline | SimpleQuery
    ) -> Conversation[Result]:
        if isinstance(instruction, SimpleQuery):
            return self.session.run_script(instruction)
        if isinstance(instruction, NotifyingStatement):
            statement, notify = instruction
            return self.session.execute_then_notify(
                self._render(statement.sql), statement.parameters, self._render(notify.sql), notify.parameters
            )
        if isinstance(instruction, Pipeline):
            return self.session.execute_all([(self._render(each.sql), each.parameters) for each in instruction.steps])
        return self.session.execute(self._render(instruction.sql), sets_of(instruction))


class SyncConnection(_State):
    """A blocking connection."""

    def __init__(self, native: psycopg.Connection, address: PostgresAddress, render: Renderer) -> None:
        super().__init__(native, address, render)
        self.native = native
        self.entry: Entry | None = None
        """The entry in the queue of the pool, while a transaction uses the connection."""
        self.interrupted = False
        """True if the last statement did not end normally: the connection is not used again."""

    def run(self, plan: Plan[R]) -> R:
        """Run a plan and commit it."""
        self.start_clock()
        answer = generators.drive(plan, self.execute)
        self.commit()
        return answer

    def execute(self, instruction: Instruction, /) -> Result:
        match instruction:
            case Begin():
                self.begin()
            case Commit():
                self.commit()
            case RollbackToSavepoint():
                self.check_time()
                self.rollback()
                self.begin()
            case Savepoint() | ReleaseSavepoint():
                pass
            case Pipeline():
                result = self.send(instruction)
                self.in_transaction = instruction.leaves_open(self.in_transaction)
                return result
            case _:
                return self.send(instruction)
        return Result()

    def send(self, instruction: Statement | Many | NotifyingStatement | Pipeline | SimpleQuery, /) -> Result:
        """Send statements to the server. This neither begins a transaction nor checks whether one is open."""
        descriptor = self.native.pgconn.socket
        until = time.monotonic() + self._deadline
        with self.native.lock:
            self.interrupted, passed = True, False
            try:
                try:
                    deadlines.watched[descriptor] = until
                    deadlines.ensure_running()
                    result = drive(self._conversation(instruction), self.native.pgconn)
                finally:
                    # The first call here is in C: a signal handler cannot raise an exception before it.
                    with deadlines.lock:
                        passed = deadlines.watched.pop(descriptor, None) is None
            except Exception as error:
                if passed:
                    raise DeadlinePassed(self._late) from error
                raise
            self.interrupted = False
        return result

    def begin(self) -> None:
        if not self.in_transaction:
            self.send(_BEGIN)
            self.in_transaction = True

    def begin_lent(self) -> None:
        """Begin a transaction that the application may use."""
        ((self.transaction_id,),) = self.send(_BEGIN_LENT)
        self.in_transaction = True

    def commit(self, *, checks: bool = False) -> None:
        if self.in_transaction:
            self.check_intact()
            try:
                self.send(self.committing(checks=checks))
            except psycopg.errors.DivisionByZero as error:
                raise self.explain(error) from error
            self.in_transaction = False

    def rollback(self) -> None:
        if self.in_transaction:
            self.send(_ROLLBACK)
            self.in_transaction = False

    @property
    def alive(self) -> bool:
        return not self.native.closed and not is_readable(self.native.pgconn)

    def close(self) -> None:
        self.native.close()


class AsyncConnection(_State):
    """An async connection. With `exclusive`, the application never uses it."""

    def __init__(
        self, native: psycopg.AsyncConnection, address: PostgresAddress, render: Renderer, *, exclusive: bool
    ) -> None:
        super().__init__(native, address, render)
        self.native = native
        self._process = os.getpid()
        self._watch = SocketWatch(native.pgconn.socket, native.pgconn.consume_input, exclusive=exclusive)

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan and commit it."""
        self.start_clock()
        answer = await generators.drive_async(plan, self.execute)
        await self.commit()
        return answer

    async def execute(self, instruction: Instruction, /) -> Result:
        match instruction:
            case Begin():
                await self.begin()
            case Commit():
                await self.commit()
            case RollbackToSavepoint():
                self.check_time()
                await self.rollback()
                await self.begin()
            case Savepoint() | ReleaseSavepoint():
                pass
            case Pipeline():
                result = await self.send(instruction)
                self.in_transaction = instruction.leaves_open(self.in_transaction)
                return result
            case _:
                return await self.send(instruction)
        return Result()

    async def send(self, instruction: Statement | Many | NotifyingStatement | Pipeline | SimpleQuery, /) -> Result:
        """Send statements to the server. This neither begins a transaction nor checks whether one is open."""
        descriptor = self.native.pgconn.socket
        async with self.native.lock:
            deadlines.watch(descriptor, self._deadline)
            try:
                result = await drive_async(self._conversation(instruction), self._watch)
            except BaseException as error:
                if deadlines.done(descriptor) and isinstance(error, Exception):
                    raise DeadlinePassed(self._late) from error
                raise
            deadlines.done(descriptor)
        return result

    async def begin(self) -> None:
        if not self.in_transaction:
            await self.send(_BEGIN)
            self.in_transaction = True

    async def begin_lent(self) -> None:
        """Begin a transaction that the application may use."""
        ((self.transaction_id,),) = await self.send(_BEGIN_LENT)
        self.in_transaction = True

    async def commit(self, *, checks: bool = False) -> None:
        if self.in_transaction:
            self.check_intact()
            try:
                await self.send(self.committing(checks=checks))
            except psycopg.errors.DivisionByZero as error:
                raise self.explain(error) from error
            self.in_transaction = False

    async def rollback(self) -> None:
        if self.in_transaction:
            await self.send(_ROLLBACK)
            self.in_transaction = False

    @property
    def alive(self) -> bool:
        return not self.native.closed and not is_readable(self.native.pgconn)

    def close(self) -> None:
        # Closing sends one message and does not wait for an answer.
        self._watch.end(self.native.pgconn.finish)

    def __del__(self) -> None:
        # The store was garbage-collected without close(). The event loop must stop watching the descriptor: the next
        # socket may get the same number. In a forked child the connection and the loop belong to the parent.
        if self._process == os.getpid() and not self.native.closed:
            self.close()
            warnings.warn("a PostgreSQL store was not closed", ResourceWarning, stacklevel=2, source=self)
