"""The PostgreSQL store: jobs in the application's own database."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from holdfast.core.clock import Clock
from holdfast.engine.operations import Examine, Finding, Operation, Settle, Start
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.engine.uninterrupted import uninterrupted
from holdfast.engine.wakeups import ConnectedWakeups, Hints, NoWakeups, Wakeups
from holdfast.stores.postgres import migration
from holdfast.stores.postgres.address import PostgresAddress, parse
from holdfast.stores.postgres.connection.app_transactions import AppTransaction, SyncAppTransaction
from holdfast.stores.postgres.connection.connect import connect
from holdfast.stores.postgres.connection.connections import Connections
from holdfast.stores.postgres.connection.forks import forget_in_children
from holdfast.stores.postgres.connection.rendering import Renderer, Style
from holdfast.stores.postgres.connection.replica import Replica, ReplicaUnavailable, may_lag
from holdfast.stores.postgres.connection.transaction import (
    PostgresTransaction,
    SyncPostgresTransaction,
    TransactionStore,
)
from holdfast.stores.postgres.errors import translated
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.retrying import Tries
from holdfast.stores.postgres.verbs.plans import plan
from holdfast.stores.postgres.verbs.scan_starts import ScanStarts
from holdfast.stores.postgres.wakeups.wakeups import PostgresWakeups
from holdfast.stores.sql.repeated_hints import RepeatedHints
from holdfast.stores.wakeup_address import wakeups_at

R = TypeVar("R")


class PostgresStore(Store):
    """Jobs in a PostgreSQL database, in a schema of their own."""

    def __init__(
        self, url: str | PostgresAddress, *, clock: Clock | None = None, wakeups: str | Wakeups | None = None
    ) -> None:
        self.address = url if isinstance(url, PostgresAddress) else parse(url)
        self.name = self.address.name
        self.schema = self.address.schema
        self.clock = clock
        self._given_wakeups = self.address.wakeups if wakeups is None else wakeups
        self._choose_wakeups()
        self._render = Renderer.of(self.schema, Style.NUMBERED)
        self._scan_starts = ScanStarts()
        self._connections = Connections(self.address, self._render)
        self._replica = None if self.address.replica is None else Replica(self.address.replica, self._render)
        self._opened = self._reopen_listener = False
        forget_in_children(self)

    # Performing

    async def perform(self, operation: Operation[R], /) -> R:
        if self._replica is not None and may_lag(operation):
            with suppress(ReplicaUnavailable):
                return await self._replica.run_async(plan(self.new_context(), operation))
        pool = self._connections.verbs_async()
        tries = Tries(operation, self.name, self.schema)
        while True:
            context = self.new_context() if tries.again else self._first_context(operation)
            try:
                answer = await pool.run(tries.plan(context))
            except BaseException as error:
                self._send_unsure(context)
                await asyncio.sleep(tries.pause(error, context))
            else:
                self._send_hints(context)
                if self._replica is not None and isinstance(operation, Examine):
                    cast("list[Finding]", answer).append(await asyncio.to_thread(self._replica.examine))
                return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        if self._replica is not None and may_lag(operation):
            with suppress(ReplicaUnavailable):
                return self._replica.run(plan(self.new_context(), operation))
        pool = self._connections.renewals if operation.reserved else self._connections.verbs
        tries = Tries(operation, self.name, self.schema)
        while True:
            context = self.new_context() if tries.again else self._first_context(operation)
            try:
                answer = pool.run(tries.plan(context))
            except BaseException as error:
                self._send_unsure(context)
                time.sleep(tries.pause(error, context))
            else:
                self._send_hints(context)
                if self._replica is not None and isinstance(operation, Examine):
                    cast("list[Finding]", answer).append(self._replica.examine())
                return answer

    def new_context(self) -> PlanContext:
        """A context for one plan, with the clock of the server or of a test."""
        if self._reopen_listener and self._listener is not None:
            self._reopen_listener = False
            uninterrupted(partial(self._listener.open, 0))
        return PlanContext(clock=None if self.clock is None else self.clock(), scan_starts=self._scan_starts)

    def _first_context(self, operation: Operation[Any]) -> PlanContext:
        """The context of a first try. A statement that commits by itself may have its NOTIFY pipelined behind it."""
        context = self.new_context()
        context.first = True
        if self._notifies is not None and (
            isinstance(operation, Start) or (isinstance(operation, Settle) and len(operation.settlements) == 1)
        ):
            context.notify = self._notifies.pipelined_notify()
        return context

    def _send_hints(self, context: PlanContext) -> None:
        """Send the hints of a plan that has committed, unless a pipelined NOTIFY has sent them."""
        if context.notified and not context.hints.recorded and self._notifies is not None:
            self._notifies.sent_by_statement(context.hints)
        else:
            self.send(context.hints)

    def _send_unsure(self, context: PlanContext) -> None:
        """Send the hints of a failed plan: part of it may be committed, and another try would not send them."""
        context.notified = False
        self._send_hints(context)

    def send(self, hints: Hints, /) -> None:
        """Send hints after a commit."""
        if hints:
            self.wakeups.send(hints)

    def send_soon(self, hints: Hints, /) -> None:
        """Send hints several times, for a commit that the store cannot observe."""
        if not isinstance(self.wakeups, NoWakeups):
            self._repeated_hints.add(hints)

    # Transactions

    async def begin(self) -> Transaction:
        pool = self._connections.transactions_async()
        try:
            connection = await pool.take()
            try:
                await connection.begin_lent()
            except BaseException:
                pool.discard(connection)
                raise
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return PostgresTransaction(pool, connection, self._transaction_store())

    async def begin_lazily(self) -> Transaction:
        pool = self._connections.transactions_async()
        try:
            connection = await pool.take()
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return PostgresTransaction(pool, connection, self._transaction_store(), begun=False)

    def begin_lazily_sync(self) -> SyncTransaction:
        pool = self._connections.transactions
        try:
            connection = pool.take()
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return SyncPostgresTransaction(pool, connection, self._transaction_store(), begun=False)

    def begin_sync(self) -> SyncTransaction:
        pool = self._connections.transactions
        try:
            connection = pool.take()
            try:
                connection.begin_lent()
            except BaseException:
                pool.discard(connection)
                raise
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        return SyncPostgresTransaction(pool, connection, self._transaction_store())

    def _transaction_store(self) -> TransactionStore:
        return TransactionStore(self.name, self.schema, self.new_context, self.send)

    def join(self, tx: Any) -> AppTransaction:
        return AppTransaction(self, tx)

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        return SyncAppTransaction(self, tx)

    # Opening and closing

    async def open(self) -> None:
        """Connect, so that a wrong address raises now and not at the first job."""
        self._open_connections()
        pool = self._connections.verbs_async()
        try:
            await pool.give_back(await pool.take())
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        await asyncio.to_thread(self._open_listener)

    def open_sync(self) -> None:
        self._open_connections()
        try:
            self._connections.verbs.give_back(self._connections.verbs.take())
        except Exception as error:
            raise translated(error, self.name, self.schema) from error
        self._open_listener()

    async def close(self) -> None:
        await asyncio.to_thread(self._close_listener)
        self._close_connections()

    def close_sync(self) -> None:
        self._close_listener()
        self._close_connections()

    def _open_listener(self) -> None:
        self._opened = True
        if self._listener is not None:
            # Subscribed before the caller reads anything, so that it misses no later hint.
            self._listener.open()

    def _close_listener(self) -> None:
        self._opened = self._reopen_listener = False
        self._repeated_hints.close()
        if self._listener is not None:
            self._listener.close()

    def _choose_wakeups(self) -> None:
        """Use the given wake-ups, or those at the given address, otherwise LISTEN and NOTIFY."""
        given = self._given_wakeups
        self._listener: ConnectedWakeups | None = None
        self._notifies: PostgresWakeups | None = None
        self._repeated_hints = RepeatedHints(self.send)
        self.notify = given is None and self.address.notify
        """Whether transactions of the application send their hints by NOTIFY."""
        if isinstance(given, str):
            self._listener = wakeups_at(given)
        elif self.notify:
            self._listener = self._notifies = PostgresWakeups(self.address)
        self.wakeups = self._listener or (NoWakeups() if given is None or isinstance(given, str) else given)

    def _open_connections(self) -> None:
        self._connections.open()
        if self._replica is not None:
            self._replica.open()

    def _close_connections(self) -> None:
        self._connections.close()
        if self._replica is not None:
            self._replica.close()

    def forget_parent(self) -> None:
        """In a forked child: drop the connections of the parent. The child opens new ones at their first use."""
        self._scan_starts = ScanStarts()
        self._connections = Connections(self.address, self._render)
        if self._replica is not None and self.address.replica is not None:
            self._replica = Replica(self.address.replica, self._render)
        # A child does not inherit threads, and the subscribers belong to the parent.
        self._choose_wakeups()
        self._reopen_listener = self._opened

    def migration_script(self) -> str:
        return migration.script(self.schema)

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(self.migrate_sync)

    def migrate_sync(self) -> list[str]:
        try:
            with connect(self.address, self._render, limited=False).native as connection:
                return migration.migrate(connection, self.schema, deadline=self.address.deadline)
        except Exception as error:
            raise translated(error, self.name, self.schema, "migrate") from error

    def pending_migrations(self) -> list[str]:
        try:
            with connect(self.address, self._render, limited=True).native as connection:
                return migration.pending(connection, self.schema)
        except Exception as error:
            raise translated(error, self.name, self.schema, "migrate --check") from error
