"""A plan on a `sqlite3.Connection`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.stores.sql.plan import Many, Row, Statement


class SqliteDriver:
    """Nothing tells of this connection's commit; whoever watches the file notices."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, step: Statement | Many, /) -> list[Row]:
        # The application may have set factories that make rows or texts into something else.
        texts, self._connection.text_factory = self._connection.text_factory, str
        cursor = self._connection.cursor()
        cursor.row_factory = None
        try:
            match step:
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

    def after_commit(self, emit: Callable[[], None], /) -> bool:
        return False

    def is_open(self) -> bool:
        return self._connection.in_transaction
