"""Connections for reading operations, one for each operation that runs at the same time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from holdfast.core.clock import Micros
from holdfast.engine.generators import drive
from holdfast.engine.operations import Operation
from holdfast.stores.sql.plan import Plan, PlanContext
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.connection.execute import executor
from holdfast.stores.sqlite.errors import translated
from holdfast.stores.sqlite.verbs.plans import plan

R = TypeVar("R")

_KEPT = 4
"""Idle connections that stay open."""


class Reader:
    """Performs reading operations. Each one sees one consistent snapshot. Safe from any thread."""

    def __init__(self, file: DatabaseFile, *, clock: Callable[[], Micros]) -> None:
        self._file = file
        self._clock = clock
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def perform(self, operation: Operation[R]) -> R:
        return self.run(plan(operation, PlanContext(self._clock())))

    def perform_at_once(self, operation: Operation[R]) -> R | None:
        """Perform an operation on an idle connection. None if there is none, because opening one takes time."""
        connection = self._take()
        return None if connection is None else self._run_on(connection, plan(operation, PlanContext(self._clock())))

    def run(self, reading: Plan[R], *, single: bool = False) -> R:
        """Run a plan. A plan with a `single` statement needs no transaction: one statement sees one snapshot."""
        with translated(self._file.name):
            connection = self._take() or self._file.connect_reader()
        return self._run_on(connection, reading, single=single)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _run_on(self, connection: sqlite3.Connection, reading: Plan[R], *, single: bool = False) -> R:
        with translated(self._file.name):
            try:
                if not single:
                    connection.execute("begin")
                answer = drive(reading, executor(connection))
                if not single:
                    connection.execute("commit")
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
            return answer

    def _take(self) -> sqlite3.Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(connection)
                return
        connection.close()
