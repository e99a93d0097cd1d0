"""The memory store: one process, one lock, gone at exit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Never, TypeVar, cast

from holdfast.core.clock import Clock
from holdfast.engine.operations import Operation
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints, LocalWakeups, Wakeups
from holdfast.stores.buffered_transaction import DeferredSyncTransaction, DeferredTransaction
from holdfast.stores.memory import attempts, complete, dependencies, operate, read, start
from holdfast.stores.memory.state import State

R = TypeVar("R")

Verb = Callable[[State, Any], Any]

VERBS: dict[str, Verb] = {
    verb: getattr(module, verb)
    for module, verbs in {
        start: ("start", "preview"),
        attempts: ("claim", "renew", "settle", "guard", "progress", "reap"),
        complete: ("lock", "complete"),
        operate: ("cancel", "retry", "run_now", "delete", "pause", "resume", "keep", "prune"),
        read: (
            "get_chains", "get_jobs", "get_blockers", "list_chains", "list_jobs", "get_history", "get_stats",
            "next_due", "listen", "unlisten", "read_events", "examine",
        ),
        dependencies: ("get_waiting",),
    }.items()
    for verb in verbs
}  # fmt: skip


class MemoryStore(Store):
    """Jobs in this process's memory: for tests, and for work that need not survive."""

    def __init__(self, name: str = "memory://", *, clock: Clock | None = None, wakeups: Wakeups | None = None) -> None:
        self.name = name
        self.wakeups = LocalWakeups() if wakeups is None else wakeups
        self.clock = clock
        self._state = State()
        self._lock = threading.Lock()

    def perform_sync(self, operation: Operation[R], /) -> R:
        state = self._state
        with self._lock:
            if state.undo:  # the operation before was interrupted twice
                state.roll_back()
            state.clock = self.clock
            state.hints = hints = Hints()
            try:
                answer = VERBS[operation.verb](state, operation)
            except BaseException:
                state.roll_back()
                raise
            state.undo.clear()
        if hints:
            self.wakeups.send(hints)
        return cast(R, answer)

    async def perform(self, operation: Operation[R], /) -> R:
        return self.perform_sync(operation)

    async def begin(self) -> DeferredTransaction:
        return DeferredTransaction(self)

    def begin_sync(self) -> DeferredSyncTransaction:
        return DeferredSyncTransaction(self)

    def join(self, tx: Any) -> Never:
        raise TypeError("the memory store shares no transaction with the application; leave tx out")

    def join_sync(self, tx: Any) -> Never:
        raise TypeError("the memory store shares no transaction with the application; leave tx out")

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def open_sync(self) -> None:
        """Nothing to connect to."""

    def close_sync(self) -> None:
        """Nothing to let go of."""

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []
