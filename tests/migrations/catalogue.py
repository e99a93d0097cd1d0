"""Everything that a schema contains, to compare two of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import psycopg

_COLUMNS = """
    select 'column', table_name, column_name, data_type, is_nullable, column_default, collation_name
      from information_schema.columns where table_schema = 'holdfast' order by 2, ordinal_position
"""
_OTHERS = """
    select 'index', indexname, indexdef from pg_indexes where schemaname = 'holdfast' union all
    select 'function', proname, pg_get_functiondef(pg_proc.oid) from pg_proc
     where pronamespace = to_regnamespace('holdfast') union all
    select 'options', relname, reloptions::text from pg_class where relnamespace = to_regnamespace('holdfast') union all
    select 'migration', number::text, name from holdfast.migration
    order by 1, 2, 3
"""


def catalogue(address: str) -> list[tuple[Any, ...]]:
    """Every table, column, index, function and applied migration of a store. Empty if it has none."""
    if address.startswith("sqlite"):
        return _sqlite(address.removeprefix("sqlite:///"))
    with psycopg.connect(address) as connection:
        columns = connection.execute(_COLUMNS).fetchall()
        return [*columns, *connection.execute(_OTHERS).fetchall()] if columns else []


def _sqlite(path: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute(
            "select type, name, sql from sqlite_master where name like 'holdfast\\_%' escape '\\' order by 1, 2"
        ).fetchall()
        applied = connection.execute("select 'migration', name from holdfast_migration").fetchall() if made else []
    return [*[(kind, name, without_comments(sql or "")) for kind, name, sql in made], *applied]


def without_comments(sql: str) -> str:
    """The statements as one line: a comment may be improved after a release."""
    return " ".join(" ".join(line.partition("--")[0] for line in sql.splitlines()).split())
