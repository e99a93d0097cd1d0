"""The driver for a `sqlite3.Connection`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.stores.sql.plan import Many, Row, Statement


class SqliteDriver:
    """This connection has no commit hook. The file watch detects its commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, instruction: Statement | Many, /) -> list[Row]:
        # The application may have set other factories for rows or text.
        texts, self._connection.text_factory = self._connection.text_factory, str
        cursor = self._connection.cursor()
        cursor.row_factory = None
        try:
            match instruction:
                case Statement(sql, parameters):
                    return cursor.execute(sql, parameters).fetchall()
                case Many(sql, parameters):
                    cursor.executemany(sql, parameters)
                    return []
        finally:
            self._connection.text_factory = texts
            cursor.close()

    def connection(self) -> sqlite3.Connection:
        return self._connection

    def after_commit(self, send: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return self._connection.in_transaction
