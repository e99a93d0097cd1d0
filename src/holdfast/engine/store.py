"""The contract of a store: where jobs live.

A store performs each operation of `holdfast.engine.operations` as one atomic step, and sends wake-ups after its
commits. The core decides what an outcome means; the store writes the decision. `holdfast.testing.conformance` tests a
store against this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from holdfast.core.clock import Clock
from holdfast.engine.operations import Operation
from holdfast.engine.wakeups import Wakeups

R = TypeVar("R")


class Transaction(Protocol):
    """An open transaction. What is performed in it is there for everyone after the commit, or never was."""

    @property
    def native(self) -> Any:
        """The connection that the application's own statements go through; None where the store has none."""
        ...

    async def perform(self, operation: Operation[R], /) -> R:
        """Perform an operation as part of this transaction."""
        ...

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


class SyncTransaction(Protocol):
    """The same for blocking code."""

    @property
    def native(self) -> Any: ...

    def perform(self, operation: Operation[R], /) -> R: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def abandon(self) -> None:
        """Have it undone although another thread, which may hang, is still using it; that thread rolls back later.

        Called from the event loop, so it waits for nothing. What the store cannot take from that thread, it keeps.
        """
        ...


class AppTransaction(Transaction, Protocol):
    """The application's own transaction, as `Store.join` gives it. The application commits or rolls it back."""

    def after_commit(self, call: Callable[[], None], /) -> bool:
        """Have `call` called once, after the commit. False if the driver has no hook for that.

        A rollback, also one to a savepoint before this call, discards `call`.
        """
        ...

    def is_open(self) -> bool:
        """False if this transaction has ended. True if it may be open. No statement is sent."""
        ...


class SyncAppTransaction(SyncTransaction, Protocol):
    """The same for blocking code."""

    def after_commit(self, call: Callable[[], None], /) -> bool: ...

    def is_open(self) -> bool: ...


class Store(ABC):
    """Where jobs live. One object may be used by many tasks and threads at once, async and blocking alike."""

    name: str
    """The address, for people: without any password."""

    wakeups: Wakeups

    clock: Clock | None = None
    """None is the store's own clock. Tests put a clock of theirs here."""

    @abstractmethod
    async def open(self) -> None:
        """Connect. Opening an open store does nothing."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of every connection and thread. Closing a closed store does nothing."""

    @abstractmethod
    def open_sync(self) -> None:
        """Connect, from blocking code."""

    @abstractmethod
    def close_sync(self) -> None:
        """Let go of everything, from blocking code."""

    def check_open(self) -> None:
        """RuntimeError if nothing can be performed before `open`. One that connects when first used raises none."""
        return

    @abstractmethod
    async def perform(self, operation: Operation[R], /) -> R:
        """Perform one operation, committed when this returns.

        Raises StoreUnavailable when the store cannot be reached or does not answer in time.
        """

    @abstractmethod
    def perform_sync(self, operation: Operation[R], /) -> R:
        """The same, blocking. Safe from any thread."""

    @abstractmethod
    async def begin(self) -> Transaction:
        """Open a transaction of the store's own."""

    @abstractmethod
    def begin_sync(self) -> SyncTransaction:
        """Open a transaction of the store's own, for blocking code."""

    @abstractmethod
    def join(self, tx: Any) -> AppTransaction:
        """The application's own open transaction, as one of ours. We never begin, commit or roll it back.

        TypeError lists what is taken; ValueError refuses a connection that would commit each statement by itself.
        """

    @abstractmethod
    def join_sync(self, tx: Any) -> SyncAppTransaction:
        """The application's own open transaction in blocking code."""

    @abstractmethod
    async def migrate(self) -> list[str]:
        """Bring the schema up to date; answers the names of the steps applied."""

    @abstractmethod
    def migrate_sync(self) -> list[str]:
        """Bring the schema up to date, from blocking code."""

    def migration_script(self) -> str | None:
        """The schema as a script, for those who run their own; None where nobody needs one. Connects to nothing."""
        return None
