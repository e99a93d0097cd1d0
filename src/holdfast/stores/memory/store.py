"""The memory store: one process and one lock. The jobs are lost when the process ends."""

from __future__ import annotations

import threading
from typing import Any, Never, TypeVar, cast

from holdfast.core.clock import Clock
from holdfast.engine.operations import Operation
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Hints, LocalWakeups, Wakeups
from holdfast.stores.buffered_transaction import BufferedSyncTransaction, BufferedTransaction
from holdfast.stores.memory import counting
from holdfast.stores.memory.state import State
from holdfast.stores.memory.verbs import VERBS

R = TypeVar("R")


class MemoryStore(Store):
    """Jobs in the memory of this process: for tests, and for work that may be lost."""

    most_held = 100  # a claim has no round trip, so larger claims are not cheaper

    def __init__(self, name: str = "memory://", *, clock: Clock | None = None, wakeups: Wakeups | None = None) -> None:
        self.name = name
        self.wakeups = LocalWakeups() if wakeups is None else wakeups
        self.clock = clock
        self._state = State()
        self._lock = threading.Lock()

    def perform_sync(self, operation: Operation[R], /) -> R:
        state = self._state
        with self._lock:
            if state.undo:  # the previous operation and its rollback were interrupted
                state.roll_back()
            state.clock = self.clock
            state.hints = hints = Hints()
            try:
                answer = VERBS[operation.verb](state, operation)
            except BaseException:
                state.roll_back()
                raise
            state.undo.clear()
            if counting.must_add_up(state):
                counting.add_up(state)
                state.undo.clear()
        if hints:
            self.wakeups.send(hints)
        return cast(R, answer)

    async def perform(self, operation: Operation[R], /) -> R:
        return self.perform_sync(operation)

    async def begin(self) -> BufferedTransaction:
        return BufferedTransaction(self)

    def begin_sync(self) -> BufferedSyncTransaction:
        return BufferedSyncTransaction(self)

    def join(self, tx: Any) -> Never:
        raise TypeError("the memory store shares no transaction with the application; leave tx out")

    def join_sync(self, tx: Any) -> Never:
        raise TypeError("the memory store shares no transaction with the application; leave tx out")

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to close."""

    def open_sync(self) -> None:
        """Nothing to connect to."""

    def close_sync(self) -> None:
        """Nothing to close."""

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []
