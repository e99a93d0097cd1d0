"""The tables of Holdfast as an operation of Django's migrations. It runs the same SQL as `holdfast migrate`."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from django.db.migrations.operations.base import Operation

from holdfast.contrib.django.configuration import configuration
from holdfast.stores.sql.files import read
from holdfast.stores.sqlite import migration as sqlite_migration

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_FIRST_ROWS = re.compile(r"^insert into [^;]+;", re.MULTILINE)
"""Rows that a migration writes: tables with a fixed row."""


class ApplySql(Operation):
    """Apply a numbered migration of the stores, unless the database has it. `holdfast migrate` records the same names.

    It changes only the database of the setting `HOLDFAST`.
    """

    reduces_to_sql = True
    reversible = True

    def __init__(self, name: str) -> None:
        self.name = name

    def state_forwards(self, app_label: str, state: Any) -> None:
        """The tables are no state of Django: its models do not manage them."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        connection = schema_editor.connection
        configured = configuration()
        if connection.alias != configured.database:
            return
        for statement in statements(connection, configured.schema, self.name, collecting=schema_editor.collect_sql):
            schema_editor.execute(statement, params=None)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        connection = schema_editor.connection
        configured = configuration()
        if connection.alias == configured.database and self.name == first_migration():
            for statement in _removal(connection, configured.schema):
                schema_editor.execute(statement, params=None)

    def describe(self) -> str:
        return f"Apply the SQL migration {self.name} of Holdfast"

    @property
    def migration_name_fragment(self) -> str:
        return self.name.partition("_")[2]


def statements(connection: BaseDatabaseWrapper, schema: str, name: str, *, collecting: bool = False) -> list[str]:
    """The statements of a migration; none if the database has it, or if its kind of store does not need it."""
    if connection.vendor == "postgresql":
        from holdfast.stores.postgres import migration as postgres_migration

        # Each block checks which migrations are applied.
        return postgres_migration.blocks(schema).get(name, [])
    return _sqlite_statements(connection, name, collecting=collecting)


def is_installed(connection: BaseDatabaseWrapper, schema: str) -> bool:
    """Whether the database has the tables."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("select to_regclass(%s) is not null", [f"{schema}.job"])
        else:
            cursor.execute("select exists (select 1 from sqlite_master where name = 'holdfast_job')")
        return bool(cursor.fetchone()[0])


def migration_names() -> list[str]:
    """The migrations of both kinds of store, in order. Each has a file in `migrations`."""
    from holdfast.stores.postgres import migration as postgres_migration

    return sorted({*sqlite_migration.migrations(), *postgres_migration.migrations()})


def first_migration() -> str:
    """The migration that creates the tables."""
    return min(sqlite_migration.migrations())


def removal_of_rows(connection: BaseDatabaseWrapper, schema: str) -> list[str]:
    """The statements that empty the tables. The names of the applied migrations stay."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("select tablename from pg_tables where schemaname = %s order by 1", [schema])
            names = [f'"{schema}"."{name}"' for (name,) in cursor.fetchall() if name != "migration"]
            from holdfast.stores.postgres.connection.rendering import in_schema

            rows = _FIRST_ROWS.findall(read("holdfast.stores.postgres.migrations")[first_migration()])
            return [f"truncate {', '.join(names)}", *(in_schema(row, f'"{schema}".') for row in rows)]
        cursor.execute(
            "select name from sqlite_master where name like 'holdfast\\_%' escape '\\' and type = 'table' "
            "and name <> 'holdfast_migration' order by name = 'holdfast_tally'"
        )
        # The last one is the table that a trigger of the jobs writes.
        emptied = [f"delete from {name}" for (name,) in cursor.fetchall()]  # noqa: S608 - names of our tables
    return [*emptied, *_FIRST_ROWS.findall(sqlite_migration.migrations()[first_migration()])]


def _sqlite_statements(connection: BaseDatabaseWrapper, name: str, *, collecting: bool) -> list[str]:
    text = sqlite_migration.migrations().get(name)
    if text is None or (not collecting and name in _applied(connection)):
        return []
    now = int(time.time() * 1_000_000)
    return [
        sqlite_migration.CREATE_TABLE,
        *sqlite_migration.statements(text),
        f"insert into holdfast_migration values ('{name}', {now})",  # noqa: S608 - the name of a file of the package
    ]


def _applied(connection: BaseDatabaseWrapper) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("select exists (select 1 from sqlite_master where name = 'holdfast_migration')")
        if not cursor.fetchone()[0]:
            return set()
        cursor.execute("select name from holdfast_migration")
        return {name for (name,) in cursor.fetchall()}


def _removal(connection: BaseDatabaseWrapper, schema: str) -> list[str]:
    if connection.vendor == "postgresql":
        return [f'drop schema if exists "{schema}" cascade']
    with connection.cursor() as cursor:
        cursor.execute(
            "select type, name from sqlite_master where name like 'holdfast\\_%' escape '\\' "
            "and type in ('table', 'view') order by type desc"
        )
        return [f"drop {kind} {name}" for kind, name in cursor.fetchall()]
