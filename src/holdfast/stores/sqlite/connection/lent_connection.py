"""The connection of a store's transaction. The application may use it, but only Holdfast ends the transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from weakref import ref

from holdfast.stores.sql.lent_transaction import TransactionGuard, ended

if TYPE_CHECKING:
    from holdfast.stores.sqlite.writing.write_queue import Waiter

Opened = TypeVar("Opened", sqlite3.Cursor, sqlite3.Blob)

_SCRIPT = "executescript()"
"""sqlite3 commits the open transaction before it runs a script."""

_TRANSACTION = 22
"""SQLITE_TRANSACTION: a statement that begins or ends a transaction. Python 3.11 has no name for it."""

_FEW = 64
"""Weak references to cursors before the dead ones are removed."""


class LentCursor(sqlite3.Cursor):
    def execute(self, sql: str, /, *args: Any) -> LentCursor:
        self._connection.check_statement(sql)
        super().execute(sql, *args)
        return self

    def executemany(self, sql: str, *args: Any) -> LentCursor:
        self._connection.check_statement(sql)
        super().executemany(sql, *args)
        return self

    def executescript(self, sql_script: str, /) -> NoReturn:
        self._connection.guard.refuse(_SCRIPT)

    @property
    def _connection(self) -> LentConnection:
        return cast("LentConnection", self.connection)


class LentConnection(sqlite3.Connection):
    """A connection on which only Holdfast ends transactions, by statement. The methods for it are refused."""

    lent = False
    """Whether the application may use the connection now."""
    guard: TransactionGuard
    """The state of the current transaction, or of the last one."""
    waiter: Waiter | None = None
    """The entry of its transaction in the write queue."""
    dropped: Callable[[], object] | None = None
    """Called when the connection is garbage collected while its transaction is open."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._reading: list[ref[sqlite3.Cursor | sqlite3.Blob]] = []
        self._tidied = _FEW
        self._ending = False
        self.guard = TransactionGuard()
        self.set_authorizer(_authorizer(self))

    def lend(self) -> None:
        """A transaction has begun: from now on the application may use it."""
        self.guard = TransactionGuard()
        self.lent = True

    def take_back(self) -> None:
        """The application no longer uses it: the transaction may end."""
        self.lent = False

    def end(self, how: str) -> None:
        """Commit or roll back."""
        self._ending = True
        try:
            # The SQL comment makes the text unique: for a cached statement sqlite3 does not call the authorizer again.
            sqlite3.Cursor(self).execute(f"{how} /* Holdfast */")
        finally:
            self._ending = False

    def check_open(self) -> None:
        """RuntimeError if the application ended the transaction or tried to. Each statement would commit by itself."""
        self.guard.check()
        if not self.in_transaction:
            raise ended()

    def check_statement(self, sql: str) -> None:
        """RuntimeError for a statement of the application that would begin or end a transaction."""
        if self.lent:
            self.guard.refuse_statement(sql)

    def cursor(self, factory: Callable[[sqlite3.Connection], sqlite3.Cursor] | None = None) -> Any:
        return self._note(super().cursor(LentCursor if factory is None else factory))

    def execute(self, sql: str, /, *args: Any) -> sqlite3.Cursor:
        return cast("sqlite3.Cursor", self.cursor().execute(sql, *args))

    def executemany(self, sql: str, /, *args: Any) -> sqlite3.Cursor:
        return cast("sqlite3.Cursor", self.cursor().executemany(sql, *args))

    def blobopen(self, *args: Any, **options: Any) -> sqlite3.Blob:
        return self._note(super().blobopen(*args, **options))

    def end_reading(self) -> None:
        """Close the cursors and blobs that are still open. An open one keeps its snapshot of the file.

        After a commit of another connection, no transaction could begin on this connection. A checkpoint could not
        copy the pages after the snapshot.
        """
        reading, self._reading, self._tidied = self._reading, [], _FEW
        for each in reading:
            if (opened := each()) is not None:
                with suppress(sqlite3.Error):  # from a cursor factory of the application
                    opened.close()

    def _note(self, opened: Opened) -> Opened:
        self._reading.append(ref(opened))
        if len(self._reading) > self._tidied:
            self._reading = [each for each in self._reading if each() is not None]
            self._tidied = _FEW + 2 * len(self._reading)
        return opened

    @contextmanager
    def plain(self) -> Generator[None]:
        """Texts are `str` inside the block, also if the application has set a text factory."""
        factory = self.text_factory
        self.text_factory = str
        try:
            yield
        finally:
            self.text_factory = factory

    def make_plain(self) -> None:
        if self.row_factory is not None or self.text_factory is not str:
            self.row_factory, self.text_factory = None, str

    def commit(self) -> NoReturn:
        self.guard.refuse("commit()")

    def rollback(self) -> NoReturn:
        self.guard.refuse("rollback()")

    def executescript(self, sql_script: str, /) -> NoReturn:
        self.guard.refuse(_SCRIPT)

    def __enter__(self) -> NoReturn:
        self.guard.refuse("`with connection`")

    def close(self) -> None:
        if self.lent:
            self.guard.refuse("close()")
        super().close()

    def set_authorizer(self, *args: Any, **options: Any) -> None:
        """The authorizer of the store rejects what would end the transaction, so the application may not replace it."""
        if self.lent:
            self.guard.refuse("set_authorizer()")
        super().set_authorizer(*args, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        """Python's sqlite3 commits when one of these is set."""
        if self.lent and name in ("isolation_level", "autocommit"):
            self.guard.refuse(f"setting {name}")
        super().__setattr__(name, value)

    def authorize(self, action: int, command: str | None) -> int:
        """The authorizer of SQLite. It also sees the statements of cursors from another class."""
        if action != _TRANSACTION or not self.lent or self._ending:
            return sqlite3.SQLITE_OK
        with suppress(RuntimeError):
            self.guard.refuse(command or "this statement")
        return sqlite3.SQLITE_DENY

    def __del__(self) -> None:
        """The garbage collector may run this in any thread. It must not wait for a lock."""
        if self.lent and self.dropped is not None:
            self.lent = False
            super().close()
            self.dropped()


def _authorizer(connection: LentConnection) -> Callable[..., int]:
    # A weak reference: the authorizer must not keep a dropped connection, and its write lock, alive.
    reference = ref(connection)

    def authorize(action: int, command: str | None, *_: str | None) -> int:
        connection = reference()
        return sqlite3.SQLITE_OK if connection is None else connection.authorize(action, command)

    return authorize
