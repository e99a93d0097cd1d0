"""Run the statements of a plan on a connection of ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.stores.sql.plan import Many, Row, Statement

Execute = Callable[[Statement | Many], list[Row]]


def executor(connection: sqlite3.Connection) -> Execute:
    """What `run` asks to execute each statement."""
    # A cursor for each statement: one for all would outlive an error, in its traceback, and keep the lock of the
    # connection that was closed for it.
    execute, executemany = connection.execute, connection.executemany

    def run(step: Statement | Many) -> list[Row]:
        if type(step) is Statement:
            return execute(step[0], step[1]).fetchall()
        executemany(step[0], step[1])
        return []

    return run
