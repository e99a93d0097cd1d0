"""The interface of a store.

A store performs each operation of `holdfast.engine.operations` atomically, and sends wake-ups after its commits. The
core decides what an outcome means, and the store writes the decision.
`holdfast.testing.conformance` tests a store against this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from holdfast.core.clock import Clock
from holdfast.engine.operations import Operation
from holdfast.engine.wakeups import Wakeups

R = TypeVar("R")


class Transaction(Protocol):
    """An open transaction. Its operations become visible with the commit, or are undone by the rollback."""

    @property
    def native(self) -> Any:
        """The connection for the application's own statements; None if the store has none."""
        ...

    async def perform(self, operation: Operation[R], /) -> R:
        """Perform an operation as part of this transaction."""
        ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


class SyncTransaction(Protocol):
    """The same interface for blocking code."""

    @property
    def native(self) -> Any: ...

    def perform(self, operation: Operation[R], /) -> R: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def abandon(self) -> None:
        """Undo the transaction while another thread, which may hang, still uses it. That thread rolls back later.

        The event loop calls this, so it must not wait. A connection that the other thread uses stays with that thread.
        """
        ...


class AppTransaction(Transaction, Protocol):
    """The application's own transaction, returned by `Store.join`. The application commits or rolls it back."""

    def after_commit(self, call: Callable[[], None], /) -> bool:
        """Call `call` once, after the commit. False if the driver has no hook for that.

        A rollback, also one to a savepoint before this call, discards `call`.
        """
        ...

    def is_open(self) -> bool:
        """False if this transaction has ended. True if it may be open. No statement is sent."""
        ...


class SyncAppTransaction(SyncTransaction, Protocol):
    """The same interface for blocking code."""

    def after_commit(self, call: Callable[[], None], /) -> bool: ...

    def is_open(self) -> bool: ...


class OtherDatabase(ValueError):
    """The application's connection leads to another database than that of the store."""


class Store(ABC):
    """Keeps jobs. Many tasks and threads may use one object at the same time, async and blocking."""

    name: str
    """The address without the password, for messages."""

    wakeups: Wakeups

    clock: Clock | None = None
    """None means the clock of the store. Tests set their own clock."""

    sharded: ClassVar[bool] = False
    """Whether the jobs lie in several stores, which `shards` returns."""

    most_held: ClassVar[int] = 500
    """A worker claims ahead only while it holds at most this many jobs, including the running ones. A larger number
    does not lower the cost of a claim per job."""

    @property
    def shards(self) -> Sequence[Store]:
        """The stores that keep the jobs: this one, unless it is sharded."""
        return (self,)

    def shard_of(self, id: str, /) -> Store:
        """The store that keeps the job or chain with this id."""
        return self

    def owns(self, schedule: str, /) -> bool:
        """Whether this store keeps the schedule with this name, if it exists. False for another shard."""
        return True

    @abstractmethod
    async def open(self) -> None:
        """Connect. Opening an open store does nothing."""

    @abstractmethod
    async def close(self) -> None:
        """Close all connections and threads. Closing a closed store does nothing."""

    @abstractmethod
    def open_sync(self) -> None:
        """Connect, from blocking code."""

    @abstractmethod
    def close_sync(self) -> None:
        """Close all connections and threads, from blocking code."""

    def check_open(self) -> None:
        """Raise RuntimeError if the store must be opened first. A store that connects on first use does not raise."""
        return

    @abstractmethod
    async def perform(self, operation: Operation[R], /) -> R:
        """Perform one operation. It is committed when this returns.

        Raises StoreUnavailable if the store cannot be reached or does not respond in time.
        """

    @abstractmethod
    def perform_sync(self, operation: Operation[R], /) -> R:
        """The same, blocking. Safe from any thread."""

    @abstractmethod
    async def begin(self) -> Transaction:
        """Begin a transaction on a connection of the store."""

    @abstractmethod
    def begin_sync(self) -> SyncTransaction:
        """Begin a transaction on a connection of the store, for blocking code."""

    async def begin_lazily(self) -> Transaction:
        """A transaction that may begin with its first operation: `native` must not be used before that operation."""
        return await self.begin()

    def begin_lazily_sync(self) -> SyncTransaction:
        """The same for blocking code."""
        return self.begin_sync()

    @abstractmethod
    def join(self, tx: Any) -> AppTransaction:
        """The application's open transaction, with the interface of a store transaction.

        The store never begins, commits or rolls it back. Raises TypeError with the accepted types, and ValueError for a
        connection in autocommit mode.
        """

    @abstractmethod
    def join_sync(self, tx: Any) -> SyncAppTransaction:
        """The application's open transaction, in blocking code."""

    @abstractmethod
    async def migrate(self) -> list[str]:
        """Bring the schema up to date. Returns the names of the applied migrations."""

    @abstractmethod
    def migrate_sync(self) -> list[str]:
        """Bring the schema up to date, from blocking code."""

    def pending_migrations(self) -> list[str]:
        """The names of the migrations that `migrate_sync` would apply, from blocking code. Changes nothing."""
        return []

    def migration_script(self) -> str | None:
        """The schema as a script, for applications that run their own migrations. None if the store has no schema.

        Opens no connection.
        """
        return None
