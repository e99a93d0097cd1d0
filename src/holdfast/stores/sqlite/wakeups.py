"""Wake-ups of a SQLite store: at once within the process, by file events between processes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from holdfast.stores.sqlite.watch import Poker, Watch
from holdfast.wakeups import ANYTHING, Hints, Listener, LocalWakeups


class SqliteWakeups:
    """Watches the file while somebody listens. The store opens and closes it."""

    def __init__(self) -> None:
        self._local = LocalWakeups()
        self._lock = threading.Lock()
        self._listeners = 0
        self._path: Path | None = None
        self._poker: Poker | None = None
        self._watch: Watch | None = None

    @property
    def healthy(self) -> bool:
        return self._path is not None

    def send(self, hints: Hints) -> None:
        poker = self._poker
        if poker is not None:
            poker.poke()
        self._local.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        forget = self._local.subscribe(listener)
        with self._lock:
            self._listeners += 1
            self._follow()
        return _once(lambda: self._leave(forget))

    def open(self, path: Path) -> None:
        with self._lock:
            self._path = path
            # Without the file nobody else hears of our commits at once, but all goes on.
            with contextlib.suppress(OSError):
                self._poker = Poker(path)
            self._follow()

    def close(self) -> None:
        with self._lock:
            self._path = None
            watch, self._watch = self._watch, None
            poker, self._poker = self._poker, None
        if watch is not None:
            watch.stop()
        if poker is not None:
            poker.close()

    def _follow(self) -> None:
        if self._watch is None and self._listeners and self._path is not None:
            self._watch = Watch(self._path, lambda: self._local.send(ANYTHING))
            self._watch.start()

    def _leave(self, forget: Callable[[], None]) -> None:
        forget()
        with self._lock:
            self._listeners -= 1
            watch = None
            if not self._listeners:
                watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()


def _once(action: Callable[[], None]) -> Callable[[], None]:
    left = [action]

    def act() -> None:
        with contextlib.suppress(IndexError):
            left.pop()()

    return act
