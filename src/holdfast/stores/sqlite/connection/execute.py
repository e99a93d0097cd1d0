"""Execute the statements of a plan on a connection of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.stores.sql.plan import Many, Row, Statement

Execute = Callable[[Statement | Many], list[Row]]


def executor(connection: sqlite3.Connection) -> Execute:
    """The function that `drive` calls for each statement of a plan."""
    # A new cursor for each statement. The traceback of an error would keep a shared cursor alive, and the cursor would
    # keep the lock of the closed connection. Not `connection.execute`: the class of a lent connection checks what the
    # application executes, and rows are tuples here, also if the application has set a row factory.
    cursor = sqlite3.Cursor

    def execute_instruction(instruction: Statement | Many) -> list[Row]:
        if type(instruction) is Statement:
            return cursor(connection).execute(instruction[0], instruction[1]).fetchall()
        cursor(connection).executemany(instruction[0], instruction[1])
        return []

    return execute_instruction
