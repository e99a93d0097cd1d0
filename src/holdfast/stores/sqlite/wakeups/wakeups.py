"""Wake-ups of a SQLite store: direct calls within the process, file events between processes."""

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
from holdfast.stores.sqlite.wakeups.file_watch import FileWatch
from holdfast.stores.sqlite.wakeups.hint_log import HintLog, HintLogReader

_log = logging.getLogger("holdfast.sqlite.watch")

LINGER = 5.0
"""Seconds for which the watch continues without a listener. Requests follow one another, and starting a watch takes
longer than a wake-up."""


class SqliteWakeups:
    """Watches the file while there is a listener, and `LINGER` seconds longer. The store opens and closes it."""

    def __init__(self) -> None:
        self.source = ""
        """Identifies this process in the hints that it writes."""
        self._local = LocalWakeups()
        self._lock = threading.Lock()
        self._listeners = 0
        self._left = 0.0
        """When the last listener left."""
        self._path: Path | None = None
        self._reader: Reader | None = None
        self._seen = 0
        self._log: HintLog | None = None
        self._log_reader: HintLogReader | None = None
        self._watch: FileWatch | None = None

    @property
    def healthy(self) -> bool:
        watch = self._watch
        return self._path is not None and (not self._listeners if watch is None else watch.alive)

    @property
    def appends(self) -> bool:
        """Whether `send` reaches other processes. Otherwise the hints must be rows of the hint table."""
        log = self._log
        return log is not None and log.reaches_readers

    def send(self, hints: Hints) -> None:
        log = self._log
        if log is not None:
            log.append(hints)
        self._local.send(hints)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        unsubscribe = self._local.subscribe(listener)
        with self._lock:
            self._listeners += 1
            self._start_watch()
        return _once(lambda: self._leave(unsubscribe))

    def open(self, path: Path, reader: Reader) -> None:
        with self._lock:
            self._path, self._reader = path, reader
            self.source = new_token()  # not before: a fork after `__init__` must not share it
            # Without the wake file other processes detect our commits later, and everything else works.
            with contextlib.suppress(OSError):
                self._log = HintLog(path, self.source)
            self._start_watch()

    def close(self) -> Callable[[], None]:
        """Stop the watch. The returned function closes the log: call it after the last commit, whose hints it sends."""
        with self._lock:
            self._path = self._reader = None
            stop = self._take_watch()
            log = self._log
        stop()

        def close_log() -> None:
            with self._lock:
                if self._log is log:  # otherwise the store was opened again
                    self._log = None
            if log is not None:
                log.close()

        return close_log

    def _start_watch(self) -> None:
        if self._watch is None and self._listeners and self._path is not None and self._reader is not None:
            # A listener subscribes first and reads the store afterwards, so it needs no hints from before this moment.
            with contextlib.suppress(StoreUnavailable):
                self._seen = self._reader.run(hint_table.last(), single=True)
            watch = FileWatch(
                self._path, self._read_table, on_notification=self._read_log, on_replaced=self._wake_all, own=self._log
            )
            try:
                self._log_reader = HintLogReader(self._path, self.source)
                watch.start()
            except (OSError, RuntimeError) as error:
                self._take_watch()()
                # The listeners poll, and the next subscription tries again.
                _log.warning("%s is not watched; commits of other processes are detected late: %s", self._path, error)
            else:
                self._watch = watch

    def _read_log(self) -> None:
        """Another process has appended hints: send them to the listeners of this process."""
        reader = self._log_reader
        if reader is not None and not self._stop_if_unused() and (hints := reader.read()):
            self._local.send(hints)

    def _read_table(self) -> None:
        """A transaction was committed: read its hints from the table and send them to the listeners of this process."""
        reader = self._reader
        if reader is None or self._stop_if_unused():
            return
        try:
            self._seen, hints = reader.run(hint_table.read(self.source, self._seen), single=True)
        except StoreUnavailable:
            hints = ANYTHING
        if hints:
            self._local.send(hints)

    def _wake_all(self) -> None:
        """The file was removed, renamed or replaced: the next call of each listener raises StoreReplaced."""
        self._local.send(ANYTHING)

    def _leave(self, unsubscribe: Callable[[], None]) -> None:
        unsubscribe()
        with self._lock:
            self._listeners -= 1
            self._left = monotonic()

    def _stop_if_unused(self) -> bool:
        """Stop the watch if there was no listener for `LINGER` seconds."""
        with self._lock:
            if self._listeners or monotonic() < self._left + LINGER:
                return False
            stop = self._take_watch()
        stop()
        return True

    def _take_watch(self) -> Callable[[], None]:
        """Forget the watch and its reader. The returned function stops them; the caller holds no lock then."""
        watch, self._watch = self._watch, None
        reader, self._log_reader = self._log_reader, None

        def stop() -> None:
            if watch is not None:
                watch.stop()
            if reader is not None:
                reader.close()

        return stop


def _once(action: Callable[[], None]) -> Callable[[], None]:
    left = [action]

    def act() -> None:
        with contextlib.suppress(IndexError):
            left.pop()()

    return act
