"""Our own connections: one statement at a time, each with a deadline, and never used again after an error."""

from __future__ import annotations

import math
import os
import select
import time
import warnings
from typing import Final, TypeVar

import psycopg
from psycopg import pq

from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.deadlines import deadlines
from holdfast.stores.postgres.connection.libpq import Exchange, Script, Session, drive, drive_async
from holdfast.stores.postgres.connection.pool_slots import Place
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.connection.socket_watch import Readiness
from holdfast.stores.postgres.errors import ABORTED, DeadlinePassed
from holdfast.stores.postgres.execution import BEGIN, COMMIT, HELD, LET_GO, TRY
from holdfast.stores.sql.lent_transaction import ended
from holdfast.stores.sql.plan import Many, Plan, Row, Statement, run, run_async, sets_of

R = TypeVar("R")

_ROLLBACK: Final = Statement("rollback")

_BEGIN_LENT: Final = Script(f"{BEGIN.sql}; select txid_current()".encode())
"""Its operations lock rows, which takes a transaction id anyway."""
_COMMIT_LENT: Final = "select 1 / coalesce(txid_current_if_assigned() = {id}, false)::int; commit"
"""Commits the transaction of this id. In another one it fails with a division by zero."""


class _State:
    """What blocking and async links have in common."""

    def __init__(
        self,
        connection: psycopg.Connection | psycopg.AsyncConnection,
        address: PostgresAddress,
        render: Renderer,
    ) -> None:
        self.session = Session(connection)
        self._connection = connection
        self.in_transaction = False
        self.transaction_id: int | None = None
        """Of a transaction that the application may use."""
        self.idle_since = 0.0
        """When it was last given back to its pool."""
        self._deadline = address.deadline
        self._late = f"no answer within {address.deadline:g} s"
        self._render = render
        self._until = math.inf

    def call_functions(self) -> None:
        """Start jobs by the functions of the schema: this role may not write to the tables."""
        self._render = self._render.with_calls()

    def start_clock(self) -> None:
        """A plan begins, which has the deadline for all its tries together to hold what it needs."""
        self._until = time.monotonic() + self._deadline

    def check_intact(self) -> None:
        """RuntimeError for a transaction that can only be rolled back: to a commit, the server would do just that."""
        if self._connection.pgconn.transaction_status == pq.TransactionStatus.INERROR:
            raise RuntimeError(ABORTED)

    def committing(self, *, checks: bool) -> Statement | Script:
        """What commits the transaction; where it `checks`, only if it is the one that was begun here."""
        return Script(_COMMIT_LENT.format(id=self.transaction_id).encode()) if checks else COMMIT

    def explain(self, error: psycopg.errors.DivisionByZero) -> Exception:
        """What a failed commit means: a failed check, or a deferred constraint that divides by zero."""
        failed_check = self._connection.pgconn.transaction_status == pq.TransactionStatus.INERROR
        return ended() if failed_check else error

    def check_time(self) -> None:
        """DeadlinePassed for a plan that has begun anew, since others were busy, for as long as it has altogether."""
        if time.monotonic() > self._until:
            raise DeadlinePassed(self._late)

    def _exchange(self, step: Statement | Many | Script) -> Exchange[list[Row]]:
        if isinstance(step, Script):
            return self.session.run_script(step)
        asked = self._render(step.sql)
        if isinstance(step, Statement) and (behind := step.behind) is not None:
            return self.session.ask_and_tell((asked, step.parameters), (self._render(behind.sql), behind.parameters))
        return self.session.ask(asked, sets_of(step))


class Link(_State):
    """A blocking connection."""

    def __init__(self, connection: psycopg.Connection, address: PostgresAddress, render: Renderer) -> None:
        super().__init__(connection, address, render)
        self.connection = connection
        self.place: Place | None = None
        """Its place in the pool, while it is lent for a transaction."""
        self.torn = False
        """Whether the last exchange did not end: the connection is not used again."""

    def run(self, plan: Plan[R]) -> R:
        """Run a plan and commit it."""
        self.start_clock()
        answer = run(plan, self.execute)
        self.commit()
        return answer

    def execute(self, step: Statement | Many, /) -> list[Row]:
        if step is BEGIN:
            self.begin()
            return []
        if step is COMMIT:
            self.commit()
            return []
        if step is LET_GO:
            self.check_time()
            self.rollback()
            self.begin()
            return []
        return [] if step is TRY or step is HELD else self.send(step)

    def send(self, step: Statement | Many | Script, /) -> list[Row]:
        """Run a statement as it stands."""
        descriptor = self.connection.pgconn.socket
        until = time.monotonic() + self._deadline
        with self.connection.lock:
            self.torn, passed = True, False
            try:
                try:
                    deadlines.watched[descriptor] = until
                    deadlines.ensure_running()
                    rows = drive(self._exchange(step), descriptor)
                finally:
                    # The first call here is in C: an exception of a signal handler cannot come before it.
                    with deadlines.lock:
                        passed = deadlines.watched.pop(descriptor, None) is None
            except Exception as error:
                if passed:
                    raise DeadlinePassed(self._late) from error
                raise
            self.torn = False
        return rows

    def begin(self) -> None:
        if not self.in_transaction:
            self.send(BEGIN)
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
        return not self.connection.closed and not _has_word(self.connection.pgconn)

    def close(self) -> None:
        self.connection.close()


class AsyncLink(_State):
    """An async connection. Applications may use it, too, unless it is `ours` alone."""

    def __init__(
        self, connection: psycopg.AsyncConnection, address: PostgresAddress, render: Renderer, *, ours: bool
    ) -> None:
        super().__init__(connection, address, render)
        self.connection = connection
        self._process = os.getpid()
        self._readiness = Readiness(connection.pgconn.socket, ours=ours)

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan and commit it."""
        self.start_clock()
        answer = await run_async(plan, self.execute)
        await self.commit()
        return answer

    async def execute(self, step: Statement | Many, /) -> list[Row]:
        if step is BEGIN:
            await self.begin()
            return []
        if step is COMMIT:
            await self.commit()
            return []
        if step is LET_GO:
            self.check_time()
            await self.rollback()
            await self.begin()
            return []
        return [] if step is TRY or step is HELD else await self.send(step)

    async def send(self, step: Statement | Many | Script, /) -> list[Row]:
        """The same, async."""
        descriptor = self.connection.pgconn.socket
        async with self.connection.lock:
            deadlines.watch(descriptor, self._deadline)
            try:
                rows = await drive_async(self._exchange(step), self._readiness)
            except BaseException as error:
                if deadlines.done(descriptor) and isinstance(error, Exception):
                    raise DeadlinePassed(self._late) from error
                raise
            deadlines.done(descriptor)
        return rows

    async def begin(self) -> None:
        if not self.in_transaction:
            await self.send(BEGIN)
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
        return not self.connection.closed and not _has_word(self.connection.pgconn)

    def close(self) -> None:
        # Closing sends one message and waits for nothing.
        self._readiness.end(self.connection.pgconn.finish)

    def __del__(self) -> None:
        # A store that was dropped unclosed: the loop would watch on for a number that is another socket's next.
        # What a forked child has inherited is its parent's, and so is the loop.
        if self._process == os.getpid() and not self.connection.closed:
            self.close()
            warnings.warn("a PostgreSQL store was dropped unclosed", ResourceWarning, stacklevel=2, source=self)


def _has_word(connection: pq.abc.PGconn) -> bool:
    """Whether the server said something while nothing was asked: that it hangs up, or worse."""
    try:
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN)
        return bool(poll.poll(0))
    except (OSError, psycopg.Error):
        return True
