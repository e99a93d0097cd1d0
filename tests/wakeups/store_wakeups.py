"""The wake-ups of a store, used through the store: a commit sends the hints."""

from __future__ import annotations

from collections.abc import Callable

from holdfast import Hints, Store
from holdfast.engine.generators import drive
from holdfast.engine.wakeups import Listener
from holdfast.stores.sqlite import SqliteStore
from holdfast.stores.sqlite.connection.execute import executor


class StoreWakeups:
    """Opens and closes the store."""

    problem = None

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self._store = store
        self._open = False

    @property
    def healthy(self) -> bool:
        return self._store.wakeups.healthy

    def send(self, hints: Hints) -> None:
        if isinstance(self._store, SqliteStore) and self._open:
            self._write(self._store, hints)
        self._store.wakeups.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._store.wakeups.subscribe(listener)

    def open(self, timeout: float = 2.0) -> None:
        self._store.open_sync()
        self._open = True

    def close(self) -> None:
        self._open = False
        self._store.close_sync()

    @staticmethod
    def _write(store: SqliteStore, hints: Hints) -> None:
        """Write the hints into the hint table. Other processes read them there."""
        tx = store.begin_sync()
        drive(store.write_hints(hints), executor(tx.native))
        tx.commit()
