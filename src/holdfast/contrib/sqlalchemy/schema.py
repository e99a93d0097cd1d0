"""Holdfast's migrations as single statements, for a connection of the application."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from sqlalchemy import Connection, inspect

from holdfast.core.clock import system_clock
from holdfast.stores.sqlite import migration as sqlite_migration

_CREATES = re.compile(r"^create (?:table|view) (\w+)", re.MULTILINE)


def postgres_statements(schema: str) -> list[str]:
    """The migrations for PostgreSQL. Each statement checks what is applied, so a second run changes nothing."""
    # Imported here: PostgreSQL's driver is an extra.
    from holdfast.stores.postgres import migration
    from holdfast.stores.postgres.address import check_schema

    check_schema(schema)
    return migration.script_parts(schema)


@cache
def sqlite_tables() -> frozenset[str]:
    """The names of Holdfast's tables and views in a SQLite file."""
    scripts = sqlite_migration.migrations().values()
    return frozenset({sqlite_migration.TABLE, *(name for script in scripts for name in _CREATES.findall(script))})


def sqlite_statements(connection: Connection | None) -> Iterator[str]:
    """The missing migrations for SQLite; all of them without a connection."""
    applied = set[Any]()
    if connection is not None and inspect(connection).has_table(sqlite_migration.TABLE):
        applied = set(connection.exec_driver_sql(f"select name from {sqlite_migration.TABLE}").scalars())  # noqa: S608
    for name, script in sqlite_migration.migrations().items():
        if name not in applied:
            yield sqlite_migration.CREATE_TABLE
            yield from sqlite_migration.statements(script)
            yield f"insert into {sqlite_migration.TABLE} values ('{name}', {system_clock()})"  # noqa: S608
