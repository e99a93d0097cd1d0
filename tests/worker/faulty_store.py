"""A store that fails on demand: before an operation, or after it, so that its answer is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from holdfast.engine.operations import Operation
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction
from holdfast.errors import StoreUnavailable
from holdfast.stores.buffered_transaction import BufferedSyncTransaction, BufferedTransaction

R = TypeVar("R")

When = Literal["before", "after"]


class Fault:
    """An error that is raised for some verbs, a number of times, or with None until `end` is called."""

    def __init__(self, verbs: tuple[str, ...], when: When, times: int | None, error: Exception) -> None:
        self.verbs = verbs
        self.when = when
        self.met = 0
        self.error = error
        self._left = times
        self._lock = threading.Lock()

    def end(self) -> None:
        """The store works again."""
        self._left = 0

    def strike(self, operation: Operation[Any], when: When) -> None:
        with self._lock:
            if when != self.when or (self.verbs and operation.verb not in self.verbs) or self._left == 0:
                return
            self.met += 1
            self._left = None if self._left is None else self._left - 1
        raise self.error


class FaultyStore(Store):
    """A store behind an unreliable connection. `performed` lists the operations that took effect."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.name = "faulty://"
        self.wakeups = inner.wakeups
        self.performed: list[Operation[Any]] = []
        self.hold = threading.Event()
        """Blocking calls wait until this is set."""
        self.hold.set()
        self.watch: Callable[[Operation[Any], Any], object] = lambda operation, answer: None
        """Called with each performed operation and its answer."""
        self._faults: list[Fault] = []

    def fail(self, *verbs: str, when: When = "before", times: int | None = 1, error: Exception | None = None) -> Fault:
        """Fail these verbs (all, if none is named) from now on."""
        fault = Fault(verbs, when, times, error or StoreUnavailable(self.name, "the connection is interrupted"))
        self._faults.append(fault)
        return fault

    def count(self, verb: str) -> int:
        """How often a verb took effect."""
        return sum(operation.verb == verb for operation in list(self.performed))

    def perform_sync(self, operation: Operation[R], /) -> R:
        self.hold.wait()
        return self._perform(operation)

    async def perform(self, operation: Operation[R], /) -> R:
        return self._perform(operation)

    def _perform(self, operation: Operation[R]) -> R:
        for fault in self._faults:
            fault.strike(operation, "before")
        answer = self.inner.perform_sync(operation)
        self.performed.append(operation)
        self.watch(operation, answer)
        for fault in self._faults:
            fault.strike(operation, "after")
        return answer

    async def begin(self) -> BufferedTransaction:
        return BufferedTransaction(self)

    def begin_sync(self) -> BufferedSyncTransaction:
        return BufferedSyncTransaction(self)

    def join(self, tx: Any) -> AppTransaction:
        return self.inner.join(tx)

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        return self.inner.join_sync(tx)

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def open_sync(self) -> None: ...

    def close_sync(self) -> None: ...

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []
