"""Transactions on connections of Django: of attempts, with models inside `prepare()` and `complete()`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import connections, transaction

from holdfast.contrib.django.async_guard import refusing_models
from holdfast.engine.operations import Operation
from holdfast.engine.store import SyncAppTransaction

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper

R = TypeVar("R")

IDLE = 10
"""Idle connections that stay open for later attempts."""


class RolledBack(Exception):
    """Leaves `atomic()`, to roll it back."""


class ConnectionTransaction:
    """An `atomic()` block on a connection of Django, which another thread may commit.

    In a transaction that is already open, as in a TestCase, it is a savepoint.
    """

    def __init__(
        self,
        wrapper: BaseDatabaseWrapper,
        join: Callable[[Any], SyncAppTransaction],
        *,
        ended: Callable[[BaseDatabaseWrapper], None] | None = None,
    ) -> None:
        self.wrapper = wrapper
        self._ended = ended
        self._over = False
        self._atomic = transaction.atomic(using=wrapper.alias)
        try:
            with installed(wrapper):
                self._atomic.__enter__()
                self._joined = join(wrapper)
        except BaseException:
            self._end()
            raise

    @property
    def native(self) -> Any:
        """The connection of the database driver, as on a store with its own connections."""
        return self.wrapper.connection

    def perform(self, operation: Operation[R], /) -> R:
        with installed(self.wrapper), refusing_models(False):
            return self._joined.perform(operation)

    def commit(self) -> None:
        try:
            with installed(self.wrapper):
                self._atomic.__exit__(None, None, None)
        finally:
            self._end()

    def rollback(self) -> None:
        if self._over:
            return
        error = RolledBack()
        try:
            with installed(self.wrapper):
                self._atomic.__exit__(RolledBack, error, None)
        finally:
            self._end()

    def abandon(self) -> None:
        """Does nothing: only the thread of the handler may use the connection. It rolls back when the handler ends."""

    def _end(self) -> None:
        if not self._over:
            self._over = True
            if self._ended is not None:
                self._ended(self.wrapper)


@contextmanager
def installed(wrapper: BaseDatabaseWrapper) -> Generator[None]:
    """Make this the connection of its alias in the current thread."""
    alias = wrapper.alias
    initialized = {each.alias: each for each in connections.all(initialized_only=True)}
    before = initialized.get(alias)
    if before is wrapper:
        yield
        return
    connections[alias] = wrapper
    try:
        yield
    finally:
        if before is None:
            del connections[alias]
        else:
            connections[alias] = before


class TransactionConnections:
    """Connections for the transactions of attempts, apart from those of the threads. Safe from any thread.

    The thread that runs a handler is not always the one that commits. So these connections belong to no thread.
    """

    def __init__(self) -> None:
        self._idle: list[BaseDatabaseWrapper] = []
        self._lock = threading.Lock()

    def begin(self, alias: str, join: Callable[[Any], SyncAppTransaction]) -> ConnectionTransaction:
        """Begin a transaction on an idle connection that works, or on a new one."""
        return ConnectionTransaction(self._take(alias), join, ended=self._give_back)

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for wrapper in idle:
            _close(wrapper)

    def _take(self, alias: str) -> BaseDatabaseWrapper:
        while True:
            with self._lock:
                wrapper = next((each for each in self._idle if each.alias == alias), None)
                if wrapper is not None:
                    self._idle.remove(wrapper)
            if wrapper is None:
                made: BaseDatabaseWrapper = connections.create_connection(alias)
                made.inc_thread_sharing()
                return made
            # After a restart of the server, the attempt must not fail because of an old connection.
            if wrapper.connection is not None and wrapper.is_usable():
                return wrapper
            _close(wrapper)

    def _give_back(self, wrapper: BaseDatabaseWrapper) -> None:
        usable = wrapper.connection is not None and not wrapper.in_atomic_block and not wrapper.errors_occurred
        if usable:
            with self._lock:
                if len(self._idle) < IDLE:
                    self._idle.append(wrapper)
                    return
        _close(wrapper)


def _close(wrapper: BaseDatabaseWrapper) -> None:
    with suppress(Exception):
        wrapper.close()
