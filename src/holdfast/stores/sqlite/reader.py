"""Connections that read, as many as read at once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from holdfast.clock import Micros
from holdfast.operations import Operation
from holdfast.sql.plan import Plan, Turn, run
from holdfast.stores.sqlite.executing import executor
from holdfast.stores.sqlite.file import File
from holdfast.stores.sqlite.translating import translated
from holdfast.stores.sqlite.verbs import plan

R = TypeVar("R")

_KEPT = 4
"""Connections kept open when nobody reads."""


class Reader:
    """Performs reading operations, each on one consistent snapshot. Safe from any thread."""

    def __init__(self, file: File, *, clock: Callable[[], Micros]) -> None:
        self._file = file
        self._clock = clock
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def perform(self, operation: Operation[R]) -> R:
        return self.run(plan(operation, Turn(self._clock())))

    def run(self, reading: Plan[R], *, single: bool = False) -> R:
        """Run a plan. A `single` statement sees one snapshot by itself."""
        with translated(self._file.name):
            connection = self._take()
            try:
                if not single:
                    connection.execute("begin")
                answer = run(reading, executor(connection))
                if not single:
                    connection.execute("commit")
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
            return answer

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._file.connect_reader()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()
