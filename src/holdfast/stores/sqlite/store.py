"""The SQLite store: one file that the processes of one machine share."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from weakref import WeakSet

from holdfast.core.clock import Clock, Micros, system_clock
from holdfast.engine.operations import GetChains, Operation, RemoveWorker, ReportWorker, Start
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.engine.wakeups import Hints, NoWakeups, Wakeups
from holdfast.stores.sql.app_transaction import JoinedSyncTransaction, JoinedTransaction
from holdfast.stores.sql.lent_transaction import TransactionIdentity
from holdfast.stores.sql.plan import Plan, PlanContext
from holdfast.stores.sql.repeated_hints import RepeatedHints
from holdfast.stores.sqlite import address, migration
from holdfast.stores.sqlite.address import SqliteAddress
from holdfast.stores.sqlite.connection import app_transactions
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.connection.reader import Reader
from holdfast.stores.sqlite.connection.threads import ThreadPool
from holdfast.stores.sqlite.connection.transaction_thread import TransactionThread
from holdfast.stores.sqlite.connection.transactions import Transactions
from holdfast.stores.sqlite.errors import translated
from holdfast.stores.sqlite.wakeups import hint_table
from holdfast.stores.sqlite.wakeups.wakeups import SqliteWakeups
from holdfast.stores.sqlite.wal.joined_wal import JoinedWal
from holdfast.stores.sqlite.writing.writer import Writer
from holdfast.stores.wakeup_address import wakeups_at

R = TypeVar("R")

_log = logging.getLogger("holdfast.sqlite")

_IN_WORKER_FILE = frozenset({ReportWorker.verb, RemoveWorker.verb})
"""Verbs that write only the worker file: they neither wait for the write lock nor commit to the file of the store."""

_THREADS = 4
"""Threads for reads of async code. A read never waits for a transaction."""


class _Parts:
    """The parts of an open store."""

    def __init__(self, store: SqliteStore) -> None:
        self.file = DatabaseFile(store.address)
        try:
            with translated(store.name):
                self.applied = self.file.migrate(store.now())
        except BaseException:
            self.file.close()
            raise
        self.end_wakeups: Callable[[], None] = lambda: None
        """Called after the last commit, which still sends its hints."""
        self.checked = app_transactions.CheckedConnections()
        self.threads = ThreadPool(_THREADS, "holdfast-sqlite")
        self.joined_wal = JoinedWal(self.file, self.threads)
        self.writer = Writer(self.file, clock=store.now, write_hints=store.write_hints, send=store.send)
        self.reader = Reader(self.file, clock=store.now)
        self.transaction_thread = TransactionThread()
        self.transactions = Transactions(
            self.file,
            clock=store.now,
            write_hints=store.write_hints,
            send=store.send,
            threads=self.threads,
            transaction_thread=self.transaction_thread,
        )

    def close(self) -> None:
        # The writing connections last: SQLite checkpoints the log when the last connection is closed.
        self.reader.close()
        self.threads.close()
        self.transaction_thread.close()
        self.transactions.close()
        self.writer.close()
        self.end_wakeups()
        self.file.close()


class SqliteStore(Store):
    """Jobs in a SQLite file. Opening the store creates the tables."""

    def __init__(
        self, url: str | SqliteAddress, *, clock: Clock | None = None, wakeups: str | Wakeups | None = None
    ) -> None:
        self.address = url if isinstance(url, SqliteAddress) else address.parse(url)
        self.name = self.address.name
        self.clock = clock
        self._files = SqliteWakeups()
        wakeups = self.address.wakeups if wakeups is None else wakeups
        self._made = wakeups_at(wakeups) if isinstance(wakeups, str) else None
        self.wakeups = self._made or (self._files if wakeups is None or isinstance(wakeups, str) else wakeups)
        self._repeated_hints = RepeatedHints(self.send)
        self._parts: _Parts | None = None
        self._was_open = False
        self._opening = threading.Lock()
        _stores.add(self)

    async def open(self) -> None:
        await asyncio.to_thread(self.open_sync)

    def open_sync(self) -> None:
        with self._opening:
            if self._parts is not None:
                self._parts.file.check_process()
                return
            self._parts = _Parts(self)
            self._was_open = True
            if self.wakeups is self._files:
                self._files.open(self._parts.file.path, self._parts.reader)
            elif self._made is not None:
                self._made.open()

    async def close(self) -> None:
        parts = self._detach()
        if parts is not None:
            await asyncio.to_thread(self._close_parts, parts)

    def close_sync(self) -> None:
        parts = self._detach()
        if parts is not None:
            self._close_parts(parts)

    def check_open(self) -> None:
        self._open_parts()

    async def perform(self, operation: Operation[R], /) -> R:
        if operation.writes and operation.verb not in _IN_WORKER_FILE:
            return await self._writing_parts().writer.perform(operation)
        parts = self._open_parts()
        if _is_fresh(operation):
            # The rows were just written and are in memory. A read here takes less time than a request to a thread.
            answer = parts.reader.perform_at_once(operation)
            if answer is not None:
                return answer
        return await parts.threads.run(lambda: parts.reader.perform(operation))

    def perform_sync(self, operation: Operation[R], /) -> R:
        if operation.writes and operation.verb not in _IN_WORKER_FILE:
            return self._writing_parts().writer.perform_sync(operation)
        return self._open_parts().reader.perform(operation)

    async def begin(self) -> Transaction:
        return await self._open_parts().transactions.begin()

    def begin_sync(self) -> SyncTransaction:
        return self._open_parts().transactions.begin_sync()

    def join(self, tx: Any) -> JoinedTransaction:
        self._open_parts()
        return JoinedTransaction(self, app_transactions.async_driver(tx), tx)

    def join_sync(self, tx: Any) -> JoinedSyncTransaction:
        self._open_parts()
        return JoinedSyncTransaction(self, app_transactions.blocking_driver(tx), tx)

    async def migrate(self) -> list[str]:
        return await asyncio.to_thread(self.migrate_sync)

    def migrate_sync(self) -> list[str]:
        """Opening the store has applied the migrations. Returns their names."""
        parts = self._open_parts()
        applied, parts.applied = parts.applied, []
        return applied

    def pending_migrations(self) -> list[str]:
        with translated(self.name):
            return migration.pending(self.address.path)

    def now(self) -> Micros:
        """The store's time."""
        return (self.clock or system_clock)()

    def new_context(self) -> PlanContext:
        return PlanContext(self.now())

    def send(self, hints: Hints, /) -> None:
        """Send wake-ups after a commit. It never raises, because the commit is done."""
        try:
            self.wakeups.send(hints)
        except Exception:
            _log.exception("could not send the wake-ups of %s after a commit", self.name)

    def send_soon(self, hints: Hints, /) -> None:
        """Send wake-ups after a commit that the application will make. The file watch detects it without this call."""
        if self.wakeups is not self._files and not isinstance(self.wakeups, NoWakeups):
            self._repeated_hints.add(hints)

    def write_hints(self, hints: Hints) -> Plan[None]:
        """Write the hints of a transaction for other processes, before its commit, if `send` cannot deliver them."""
        if self.wakeups is self._files and not self._files.appends:
            yield from hint_table.write(self._files.source, hints)

    def plan_joined(
        self, operation: Operation[R], context: PlanContext, connection: Any, identity: TransactionIdentity, /
    ) -> Plan[R]:
        parts = self._open_parts()
        checked = connection in parts.checked
        answer = yield from app_transactions.joined(
            operation, context, connection, path=parts.file.path, identity=identity, checked=checked
        )
        if not checked:
            parts.checked.add(connection)
        # Without a source, so that this process reads the hint too: it learns of this commit only through the file.
        if self.wakeups is self._files:
            yield from hint_table.write("", context.hints)
        if operation.writes:
            parts.joined_wal.count(len(operation.jobs) if isinstance(operation, Start) else 1)
        return answer

    def translated(self) -> AbstractContextManager[None]:
        return translated(self.name)

    def _open_parts(self) -> _Parts:
        parts = self._writing_parts()
        parts.file.check_replaced()
        return parts

    def _writing_parts(self) -> _Parts:
        """Without a check of the file: a write checks it when it has the lock, and a check costs 4 µs."""
        parts = self._parts
        if parts is None:
            state = "was closed" if self._was_open else "is not open"
            raise RuntimeError(f"{self.name} {state}; use `with` or `async with`, or call open first")
        parts.file.check_process()
        return parts

    def _detach(self) -> _Parts | None:
        with self._opening:
            parts, self._parts = self._parts, None
            if parts is None:
                return None
            parts.file.check_process()
            parts.end_wakeups = self._files.close()
            return parts

    def _close_parts(self, parts: _Parts) -> None:
        parts.close()
        # Sends the remaining hints now: their transactions may have committed.
        self._repeated_hints.close()
        if self._made is not None:
            self._made.close()


def _is_fresh(operation: Operation[Any]) -> bool:
    return isinstance(operation, GetChains) and operation.fresh


_stores: WeakSet[SqliteStore] = WeakSet()
_inherited: list[SqliteStore] = []

# Keep references in a forked child: garbage collection would close connections that belong to the parent.
os.register_at_fork(after_in_child=lambda: _inherited.extend(_stores))
