"""Wake-ups of a SQLite store: at once within the process, by file events between processes."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from holdfast.core.ids import new_token
from holdfast.engine.wakeups import ANYTHING, Hints, Listener, LocalWakeups
from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite.connection.reader import Reader
from holdfast.stores.sqlite.wakeups import hint_table
from holdfast.stores.sqlite.wakeups.file_watch import Poker, Watch

_log = logging.getLogger("holdfast.sqlite.watch")

LINGER = 5.0
"""Seconds after the last listener left in which the file is still watched: requests follow one another, and to begin
takes longer than to hear."""


class SqliteWakeups:
    """Watches the file while somebody listens, and a while on. The store opens and closes it."""

    def __init__(self) -> None:
        self.source = new_token()
        """Who we are in the hints that we write."""
        self._local = LocalWakeups()
        self._lock = threading.Lock()
        self._listeners = 0
        self._left = 0.0
        """When somebody last stopped listening."""
        self._path: Path | None = None
        self._reader: Reader | None = None
        self._seen = 0
        self._poker: Poker | None = None
        self._watch: Watch | None = None

    @property
    def healthy(self) -> bool:
        watch = self._watch
        return self._path is not None and (not self._listeners if watch is None else watch.alive)

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

    def open(self, path: Path, reader: Reader) -> None:
        with self._lock:
            self._path, self._reader = path, reader
            # Without the file nobody else hears of our commits at once, but all goes on.
            with contextlib.suppress(OSError):
                self._poker = Poker(path)
            self._follow()

    def close(self) -> None:
        with self._lock:
            self._path = self._reader = None
            watch, self._watch = self._watch, None
            poker, self._poker = self._poker, None
        if watch is not None:
            watch.stop()
        if poker is not None:
            poker.close()

    def _follow(self) -> None:
        if self._watch is None and self._listeners and self._path is not None and self._reader is not None:
            # What is committed before this is seen by whoever subscribes: subscribe, then look.
            with contextlib.suppress(StoreUnavailable):
                self._seen = self._reader.run(hint_table.last(), single=True)
            watch = Watch(self._path, self._look, own=self._poker)
            try:
                watch.start()
            except (OSError, RuntimeError) as error:
                # Whoever listens polls, and the next one tries again.
                _log.warning("%s is not watched, and commits of other processes are heard late: %s", self._path, error)
            else:
                self._watch = watch

    def _look(self) -> None:
        """Something was committed: find out what, and tell those here."""
        reader = self._reader
        if reader is None or self._rest():
            return
        try:
            self._seen, hints = reader.run(hint_table.read(self.source, self._seen), single=True)
        except StoreUnavailable:
            hints = ANYTHING
        if hints:
            self._local.send(hints)

    def _leave(self, forget: Callable[[], None]) -> None:
        forget()
        with self._lock:
            self._listeners -= 1
            self._left = monotonic()

    def _rest(self) -> bool:
        """Stop watching if nobody has listened for long."""
        with self._lock:
            if self._listeners or monotonic() < self._left + LINGER:
                return False
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
        return True


def _once(action: Callable[[], None]) -> Callable[[], None]:
    left = [action]

    def act() -> None:
        with contextlib.suppress(IndexError):
            left.pop()()

    return act
